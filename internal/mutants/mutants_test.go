package mutants

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var enabled = flag.Bool("mutants", false, "break the code and run the tests that must notice")

// root is the module's, seen from this package.
const root = "../.."

// mutant is a mistake.
type mutant struct {
	name string // what the code does wrong
	file string // from the module's root
	old  string // stands once in the file
	new  string
	pkg  string // whose tests notice; without ./ the directory of another module
	run  string // the tests, as in go test -run
}

// TestMutants_TableMatchesTheCode holds that each mistake can be made in the code as it is, also
// when none is.
func TestMutants_TableMatchesTheCode(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, m := range mistakes() {
		if names[m.name] {
			t.Errorf("two mistakes are named %q", m.name)
		}
		names[m.name] = true
		if _, err := m.make(); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

// TestMutants holds that each mistake of the table is noticed by the tests it names, and
// that these pass without it.
func TestMutants(t *testing.T) {
	if !*enabled {
		t.Skip("-mutants is not set: no mistake is tried (make mutants tries them)")
	}
	t.Parallel()
	for _, m := range mistakes() {
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			out, err := m.test(t)
			failed := new(exec.ExitError)
			switch {
			case err == nil:
				t.Errorf("no test noticed: go test -run '%s' %s passes with\n%s", m.run, m.pkg, m.diff())
			case !errors.As(err, &failed):
				t.Fatal(err)
			case !bytes.Contains(out, []byte("--- FAIL")) && !bytes.Contains(out, []byte("panic: ")):
				t.Errorf("the tests did not run:\n%s", out)
			default:
				t.Log(noticed(out))
			}
		})
	}
}

// TestMutants_OriginalCodePasses holds that the tests of the table pass on the code as it is, and
// that there are such tests.
func TestMutants_OriginalCodePasses(t *testing.T) {
	if !*enabled {
		t.Skip("-mutants is not set")
	}
	t.Parallel()
	tried := map[string]bool{}
	for _, m := range mistakes() {
		if tried[m.pkg+m.run] {
			continue
		}
		tried[m.pkg+m.run] = true
		t.Run(m.pkg+" "+m.run, func(t *testing.T) {
			t.Parallel()
			out, err := goTest(t, m.pkg, m.run)
			if err != nil || bytes.Contains(out, []byte("no tests to run")) {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}

// make returns the mutant's file with the mistake.
func (m mutant) make() ([]byte, error) {
	code, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(code, []byte(m.old)); n != 1 {
		return nil, fmt.Errorf("%s has %d times what the mistake replaces, want once: the table must follow the code\n%s", m.file, n, m.old)
	}
	return bytes.Replace(code, []byte(m.old), []byte(m.new), 1), nil
}

// test runs the mutant's tests.
func (m mutant) test(t *testing.T) ([]byte, error) {
	t.Helper()
	code, err := m.make()
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(filepath.Join(root, m.file))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, "changed"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err == nil {
		err = errors.Join(os.WriteFile(changed, code, 0o600), os.WriteFile(overlay, list, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return goTest(t, m.pkg, m.run, "-overlay", overlay)
}

func goTest(t *testing.T, pkg, run string, flags ...string) ([]byte, error) {
	t.Helper()
	args := append([]string{"test", "-vet=off", "-count=1", "-failfast", "-timeout=180s", "-run", run}, flags...)
	dir := root
	if !strings.HasPrefix(pkg, ".") {
		dir, pkg = filepath.Join(root, pkg), "."
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, pkg)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "RAPID_NOFAILFILE=1") // what a mistake fails with is not worth keeping
	return cmd.CombinedOutput()
}

func (m mutant) diff() string {
	lines := func(sign, text string) string { return sign + strings.ReplaceAll(text, "\n", "\n"+sign) + "\n" }
	return m.file + "\n" + lines("-", m.old) + lines("+", m.new)
}

// noticed returns the lines of a test's output that say which test failed.
func noticed(out []byte) string {
	var failed []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "--- FAIL") || strings.HasPrefix(line, "panic: ") {
			failed = append(failed, strings.TrimSpace(line))
		}
	}
	return strings.Join(failed, "; ")
}
