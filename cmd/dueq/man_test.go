package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// macros are the instructions that pages have; a line of text that begins with a dot would be one.
var macros = []string{".TH", ".SH", ".B", ".PP", ".TP", ".RS", ".RE", ".nf", ".fi"}

func TestMan_EveryCommandAndFlagHasAPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	without(t).ok("man", dir)
	pages := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if !cmd.IsAvailableCommand() {
			return
		}
		pages++
		cmd.InitDefaultHelpFlag()
		page := readPage(t, dir, manName(cmd))
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(page, `\fB`+roff("--"+f.Name)+`\fR`) {
				t.Errorf("%s has no --%s", manName(cmd), f.Name)
			}
		})
		for line := range strings.Lines(page) {
			if word, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(word, ".") && !slices.Contains(macros, word) {
				t.Errorf("%s: %q is an instruction", manName(cmd), line)
			}
		}
		for _, named := range regexp.MustCompile(`(\S+)\(1\)`).FindAllStringSubmatch(page[strings.LastIndex(page, ".SH "):], -1) {
			readPage(t, dir, strings.ReplaceAll(named[1], `\-`, "-"))
		}
		for _, below := range cmd.Commands() {
			walk(below)
		}
	}
	root := newRoot(&app{})
	root.InitDefaultCompletionCmd()
	walk(root)
	if all, err := filepath.Glob(filepath.Join(dir, "*")); len(all) != pages || err != nil {
		t.Errorf("%d pages of %d commands, %v", len(all), pages, err)
	}
	without(t).fails(exitUsage, []string{"DIR"}, "man", filepath.Join(dir, "missing"))
}

func readPage(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name+".1"))
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func TestRoff_TextHasNoInstructions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`plain`: `plain`, `.5 of it`: `\&.5 of it`, `'quoted'`: `\(aqquoted\(aq`, `a \ b`: `a \e b`, `--x`: `\-\-x`, "^~`\"": `\(ha\(ti\(ga\(dq`,
	} {
		if got := roff(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if got, want := manText("a\n\n  b\n  c\nd\n\n  e"), "a\n.PP\n.RS\n.nf\nb\nc\n.fi\n.RE\nd\n.PP\n.RS\n.nf\ne\n.fi\n.RE\n"; got != want {
		t.Errorf("the text is %q, want %q", got, want)
	}
}

// TestMan_GroffHasNoWarnings needs groff.
func TestMan_GroffHasNoWarnings(t *testing.T) {
	t.Parallel()
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("SKIPPED: there is no groff: man pages are only held to rules")
	}
	dir := t.TempDir()
	without(t).ok("man", dir)
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), groff, append([]string{"-man", "-Tutf8", "-ww", "-z"}, pages...)...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
