package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newMan makes a command for packages and releases, not for people.
func newMan(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:    "man DIR",
		Short:  "Write a man page for each command into a directory",
		Args:   cobra.ExactArgs(1),
		Hidden: true,

		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
	}
	cmd.RunE = a.do(func(_ context.Context, args []string) error {
		return writeMan(cmd.Root(), args[0])
	})
	return cmd
}

// writeMan writes the pages of a command and of those below it.
func writeMan(cmd *cobra.Command, dir string) error {
	if err := os.WriteFile(filepath.Join(dir, manName(cmd)+".1"), []byte(manPage(cmd)), 0o644); err != nil { //nolint:gosec // everybody may read the manual
		return usage("DIR: %w", err)
	}
	for _, below := range documented(cmd) {
		if err := writeMan(below, dir); err != nil {
			return err
		}
	}
	return nil
}

// documented returns the commands directly below cmd that have a page.
func documented(cmd *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			all = append(all, below)
		}
	}
	return all
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage returns the page of a command as roff. It has no date, so that two builds of one version
// write the same.
func manPage(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag() // as executing the command does
	var b strings.Builder
	fmt.Fprintf(&b, ".TH \"%s\" 1 \"\" \"%s\" dueq\n", roff(strings.ToUpper(manName(cmd))), roff("dueq "+version().Version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(manName(cmd)), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n.SH DESCRIPTION\n", roff(cmd.UseLine()))
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	b.WriteString(manText(text))
	for _, part := range []struct {
		title string
		flags *pflag.FlagSet
	}{{"OPTIONS", cmd.NonInheritedFlags()}, {"OPTIONS OF ALL COMMANDS", cmd.InheritedFlags()}} {
		if part.flags.HasAvailableFlags() {
			fmt.Fprintf(&b, ".SH %s\n%s", part.title, manFlags(part.flags))
		}
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n%s", manText(cmd.Example))
	}
	var also []string
	if cmd.HasParent() {
		also = append(also, manName(cmd.Parent()))
	}
	for _, below := range documented(cmd) {
		also = append(also, manName(below))
	}
	if len(also) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s(1)\n", roff(strings.Join(also, "(1), ")))
	}
	return b.String()
}

// manText returns paragraphs; lines that begin with two spaces stay as they are.
func manText(text string) string {
	var b strings.Builder
	literal := false
	for line := range strings.SplitSeq(text, "\n") {
		if verbatim := strings.HasPrefix(line, "  "); verbatim != literal {
			literal = verbatim
			b.WriteString(map[bool]string{true: ".RS\n.nf\n", false: ".fi\n.RE\n"}[literal])
			line = strings.TrimPrefix(line, "  ")
		} else if literal {
			line = line[2:]
		}
		if line == "" {
			b.WriteString(".PP\n")
			continue
		}
		b.WriteString(roff(line) + "\n")
	}
	if literal {
		b.WriteString(".fi\n.RE\n")
	}
	return b.String()
}

// manFlags returns a list of flags.
func manFlags(flags *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, help := pflag.UnquoteUsage(f)
		b.WriteString(".TP\n")
		if f.Shorthand != "" {
			fmt.Fprintf(&b, "\\fB%s\\fR, ", roff("-"+f.Shorthand))
		}
		fmt.Fprintf(&b, "\\fB%s\\fR \\fI%s\\fR\n%s", roff("--"+f.Name), roff(value), roff(help))
		if d := f.DefValue; d != "" && d != "false" && d != "[]" && d != "0" && d != "0s" {
			b.WriteString(roff(" (default " + d + ")"))
		}
		b.WriteString("\n")
	})
	return b.String()
}

// roff returns a text in which roff finds no instruction.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", "\\(ga", `"`, `\(dq`, "^", `\(ha`, "~", `\(ti`).Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}
