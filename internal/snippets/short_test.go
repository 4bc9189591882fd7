package snippets

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	shortened = regexp.MustCompile(`testing\.Short\(\)|(?m)^//go:build !?race$`)
	fullList  = regexp.MustCompile(`(?m)^(?:SERVED|LONG|UNRACED) := (.+)$`)
)

// CI runs the tests of each package under the race detector in their short form. A package whose tests have one is in a
// list of the Makefile, and CI runs the tests of these in full as well.
func TestMakefile_ShortenedTestsRunInFull(t *testing.T) {
	t.Parallel()
	full := fullPackages(content(t, "../../Makefile"))
	found := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			if err == nil && entry.IsDir() && path != "../.." && isModule(path) {
				return filepath.SkipDir
			}
			return err
		}
		dir, err := filepath.Rel("../..", filepath.Dir(path))
		if err != nil || dir == filepath.Join("internal", "snippets") || !shortened.MatchString(content(t, path)) {
			return err
		}
		if found++; !full(filepath.ToSlash(dir)) {
			t.Errorf("%s has a short form, and %s is not in SERVED, LONG or UNRACED of the Makefile", path, dir)
		}
		return nil
	})
	if err != nil || found < 5 {
		t.Errorf("found %d files with short tests, error %v", found, err)
	}
}

func TestMakefile_PackageThatIsNotInFull(t *testing.T) {
	t.Parallel()
	full := fullPackages("SERVED := . ./a\nLONG := ./b/...\nOTHER := ./c\n")
	for dir, want := range map[string]bool{".": true, "a": true, "a/x": false, "b": true, "b/x": true, "bx": false, "c": false} {
		if got := full(dir); got != want {
			t.Errorf("%s: %t, want %t", dir, got, want)
		}
	}
}

// fullPackages returns whether the lists of a Makefile have the package of a directory.
func fullPackages(makefile string) func(dir string) bool {
	var patterns []string
	for _, list := range fullList.FindAllStringSubmatch(makefile, -1) {
		patterns = append(patterns, strings.Fields(list[1])...)
	}
	return func(dir string) bool {
		for _, pattern := range patterns {
			pattern = strings.TrimPrefix(pattern, "./")
			tree, all := strings.CutSuffix(pattern, "/...")
			if dir == tree || all && strings.HasPrefix(dir, tree+"/") {
				return true
			}
		}
		return false
	}
}

// isModule reports whether a directory is another module, or has no Go.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	name := filepath.Base(dir)
	return err == nil || name == "node_modules" || name == ".git"
}
