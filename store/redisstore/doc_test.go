package redisstore

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/REDIS.md anew")

const redisDoc = "../../docs/REDIS.md"

// TestDoc_IsCurrent fails when docs/REDIS.md differs from REDIS.head.md and the headers of the
// scripts. With -update it writes the file.
func TestDoc_IsCurrent(t *testing.T) {
	t.Parallel()
	want := renderDoc(t)
	if *update {
		if err := os.WriteFile(redisDoc, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(redisDoc)
	if err != nil || string(got) != want {
		t.Fatalf("docs/REDIS.md is stale (%v): go generate ./store/redisstore", err)
	}
}

func renderDoc(t *testing.T) string {
	t.Helper()
	head, err := os.ReadFile("REDIS.head.md")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.Write(head)
	for _, name := range slices.Sorted(maps.Keys(library())) {
		h, err := parseHeader(readScript(name + ".lua"))
		if err != nil {
			t.Fatal(err)
		}
		renderScript(&b, name, h)
	}
	return b.String()
}

func renderScript(b *strings.Builder, name string, h header) {
	fmt.Fprintf(b, "\n### %s\n\n", name)
	purpose := h.sections["PURPOSE"]
	fmt.Fprintf(b, "%s%s.\n\n", strings.ToUpper(purpose[:1]), purpose[1:])
	for _, s := range []struct{ section, title string }{
		{"TRANSITION", "Transition"},
		{"RETURNS", "Returns"},
		{"CODES", "Codes"},
		{"COST", "Cost"},
		{"RETRY", "Retry"},
		{"EMITS", "Emits"},
	} {
		if text := h.sections[s.section]; text != "-" && text != "none" {
			fmt.Fprintf(b, "- %s: %s\n", s.title, markdown(text))
		}
	}
	b.WriteString("\n| argument | name | type | unit | range |\n| --- | --- | --- | --- | --- |\n")
	for i, key := range h.keys {
		key, kind, _ := strings.Cut(key, " ")
		fmt.Fprintf(b, "| KEYS[%d] | %s | %s | | |\n", i+1, key, kind)
	}
	for i, arg := range h.args {
		more := ""
		if h.rest && i == len(h.args)-1 {
			more = "..."
		}
		fmt.Fprintf(b, "| ARGV[%d%s] | %s |\n", i+1, more, markdown(arg))
	}
}

// markdown escapes characters that Markdown would take for markup.
func markdown(s string) string { return strings.ReplaceAll(s, "<", "&lt;") }
