package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestDocs_CommandsExist parses each line of README and docs that begins with dueq, in blocks of
// shell commands, without running it.
func TestDocs_CommandsExist(t *testing.T) {
	pages := []string{"../../README.md"}
	err := filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		shell := false
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "```") {
				shell = line == "```sh"
			}
			if command, is := strings.CutPrefix(line, "dueq "); shell && is {
				found++
				if err := parse(words(command)); err != nil {
					t.Errorf("%s: %s: %v", page, line, err)
				}
			}
		}
	}
	if found < 7 {
		t.Errorf("found %d commands", found)
	}
}

var inline = regexp.MustCompile("`dueq ([^`]+)`")

// TestDocs_CommandsOfTheRunbookExist parses the commands in the sentences of the runbook.
func TestDocs_CommandsOfTheRunbookExist(t *testing.T) {
	text, err := os.ReadFile("../../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	found := inline.FindAllStringSubmatch(string(text), -1)
	for _, f := range found {
		command := strings.ReplaceAll(f[1], "\n", " ")
		if err := parse(words(command)); err != nil {
			t.Errorf("dueq %s: %v", command, err)
		}
	}
	if len(found) < 10 {
		t.Errorf("found %d commands", len(found))
	}
}

func TestDocs_UnknownCommandsAndFlagsAreFound(t *testing.T) {
	for _, command := range []string{"sned --queue q x", "send --queue q --dealy 1s x", "cancel --queue q", "queue udpate --queue q"} {
		if parse(words(command)) == nil {
			t.Errorf("dueq %s: no error", command)
		}
	}
}

// parse reports whether dueq would accept a command line.
func parse(args []string) error {
	root := newRoot(&app{})
	root.InitDefaultCompletionCmd(args...) // as executing the root does
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if !cmd.Runnable() {
		return errors.New("no such command")
	}
	if err := cmd.ParseFlags(rest); err != nil && !errors.Is(err, pflag.ErrHelp) {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// words splits a command line as a shell does, up to a comment, a pipe or a redirection.
func words(line string) []string {
	var list []string
	var word strings.Builder
	quote, begun := rune(0), false
	for _, r := range line + " " {
		switch {
		case quote != 0 && r != quote:
			word.WriteRune(r)
		case quote != 0:
			quote = 0
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r != ' ':
			word.WriteRune(r)
			begun = true
		case begun:
			if strings.ContainsAny(word.String()[:min(1, word.Len())], "#|<>&") {
				return list
			}
			list = append(list, word.String())
			word.Reset()
			begun = false
		}
	}
	return list
}
