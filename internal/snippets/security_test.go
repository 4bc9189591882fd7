package snippets

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const securityPage = "../../SECURITY.md"

var (
	rule       = regexp.MustCompile(`(?m)^\| (.+?) \| (.+) \|$`)
	namedTest  = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9_]+)`")
	pageTest   = regexp.MustCompile("`(test\\(\"[^`]+)`")
	definition = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9_]+)\(`)
)

// Each rule of SECURITY.md names a test, and each test that it names is there.
func TestSecurity_RulesHaveTheirTests(t *testing.T) {
	t.Parallel()
	page := content(t, securityPage)
	known, dashboard := goTests(t), content(t, "../../web/test/dashboard.test.mjs")
	rules := 0
	for _, row := range rule.FindAllStringSubmatch(page, -1) {
		if row[1] == "rule" || strings.HasPrefix(row[1], "-") {
			continue
		}
		rules++
		missing, named := missingTests(row[2], known, dashboard)
		if named == 0 {
			t.Errorf("the rule %q has no test", row[1])
		}
		for _, name := range missing {
			t.Errorf("the rule %q names %s, which does not exist", row[1], name)
		}
	}
	if rules < 30 {
		t.Errorf("the page has %d rules", rules)
	}
}

func TestSecurity_MissingTestsAreFound(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"TestA_B": true}
	missing, named := missingTests("`TestA_B`, `FuzzC`, `test(\"a page\"`, `test(\"no page\"`", known, `test("a page", async`)
	if want := []string{"FuzzC", `test("no page"`}; named != 4 || !slices.Equal(missing, want) {
		t.Errorf("%d tests are named, %q are missing; want 4 and %q", named, missing, want)
	}
}

// missingTests returns which of the tests that a text names do not exist, and how many it names.
func missingTests(text string, known map[string]bool, dashboard string) (missing []string, named int) {
	for _, m := range namedTest.FindAllStringSubmatch(text, -1) {
		if named++; !known[m[1]] {
			missing = append(missing, m[1])
		}
	}
	for _, m := range pageTest.FindAllStringSubmatch(text, -1) {
		if named++; !strings.Contains(dashboard, m[1]) {
			missing = append(missing, m[1])
		}
	}
	return missing, named
}

func content(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// goTests returns the names of all tests in Go.
func goTests(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	eachFile(t, func(path string) {
		if strings.HasSuffix(path, "_test.go") {
			for _, m := range definition.FindAllStringSubmatch(content(t, path), -1) {
				names[m[1]] = true
			}
		}
	})
	return names
}

// eachFile calls do for each Go file of the repository.
func eachFile(t *testing.T, do func(path string)) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".git") {
			return filepath.SkipDir
		}
		if err == nil && strings.HasSuffix(path, ".go") {
			do(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Packages that make code or objects of any type from data, with which a body of a message could do
// more than be text; and profiles, which would be served beside the API.
func TestSecurity_NoPackageRunsWhatMessagesSay(t *testing.T) {
	t.Parallel()
	forbidden := []string{"encoding/gob", "html/template", "text/template", "plugin", "net/http/pprof", "expvar"}
	seen := 0
	eachFile(t, func(path string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		seen++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains(forbidden, name) || strings.Contains(name, "yaml") {
				t.Errorf("%s imports %s", path, name)
			}
		}
	})
	if seen < 200 {
		t.Errorf("only %d files were read", seen)
	}
}
