package snippets

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// packages are what snippets may use without importing it.
var packages = []string{
	"context", "database/sql", "encoding/json", "errors", "fmt", "log", "log/slog", "net/http", "os", "os/signal", "testing",
	"testing/synctest", "time", "github.com/redis/go-redis/v9", "github.com/dueq-dev/dueq", "github.com/dueq-dev/dueq/dueqhttp", "github.com/dueq-dev/dueq/dueqtest",
}

// modules are further packages that snippets may use, by the directories of their modules.
var modules = map[string][]string{
	"../../dueqprom": {"github.com/dueq-dev/dueq/dueqprom", "github.com/prometheus/client_golang/prometheus"},
	"../../dueqotel": {"github.com/dueq-dev/dueq/dueqotel"},
}

// prelude declares the names that snippets use without showing where they come from.
const prelude = `
var (
	ctx = context.Background()
	client *dueq.Client
	q, orders, reports *dueq.Queue
	d *dueq.Delivery
	db *sql.DB
	rdb redis.UniversalClient
	id string
	body []byte
	messages []dueq.Message
	errGone, errBusy error
	handler dueq.Handler
)
type Webhook struct{ URL string }
func post(context.Context, Webhook) error { return nil }
func cancelIfUnpaid(context.Context, []byte) error { return nil }
func cancelUnpaid(context.Context, *dueq.Delivery) error { return nil }
func sendMail(context.Context, *dueq.Delivery) error { return nil }
func insertAll(context.Context, []*dueq.Delivery) error { return nil }
`

// block is a snippet of a page.
type block struct {
	page string
	line int
	code string
}

func TestSnippets_Compile(t *testing.T) {
	fset := token.NewFileSet()
	compiler := importer.ForCompiler(fset, "gc", exports(t))
	found := 0
	for _, page := range pages(t) {
		for _, b := range blocks(t, page, "go") {
			found++
			for _, problem := range b.check(fset, compiler) {
				t.Error(problem)
			}
		}
	}
	if found < 2 {
		t.Errorf("found %d snippets", found)
	}
}

func TestCheck_ReportsWhatIsWrong(t *testing.T) {
	fset := token.NewFileSet()
	compiler := importer.ForCompiler(fset, "gc", exports(t))
	for code, want := range map[string]string{
		"err := q.Sned(ctx, dueq.Message{})":                      "Sned",
		"_, err := q.Send(ctx, dueq.Message{Dealy: time.Second})": "Dealy",
		"func f( {": "expected",
	} {
		problems := block{page: "page.md", line: 7, code: code}.check(fset, compiler)
		if len(problems) == 0 || !strings.Contains(problems[0], want) || !strings.HasPrefix(problems[0], "page.md:7:") {
			t.Errorf("%s: %q, want %s in line 7", code, problems, want)
		}
	}
	unused := block{page: "page.md", line: 7, code: "s, err := q.Stats(ctx)"}
	if problems := unused.check(fset, compiler); len(problems) > 0 {
		t.Errorf("a variable that is not used is a problem: %q", problems)
	}
}

// check type-checks a snippet and returns what is wrong with it. A snippet with a package clause
// is a file; one with declarations of functions gets imports and the prelude; any other is the body of a function.
// Unused variables are accepted, because a snippet is only a part of a program.
func (b block) check(fset *token.FileSet, compiler types.Importer) []string {
	source := b.source()
	file, err := parser.ParseFile(fset, b.page, source, 0)
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	config := types.Config{Importer: compiler, Error: func(err error) {
		if !strings.Contains(err.Error(), "declared and not used") && !strings.Contains(err.Error(), "imported and not used") {
			problems = append(problems, err.Error())
		}
	}}
	_, _ = config.Check("snippet", fset, []*ast.File{file}, nil) // Error has all of it
	return problems
}

var declares = regexp.MustCompile(`(?m)^func `)

func (b block) source() string {
	at := fmt.Sprintf("\n//line %s:%d\n", b.page, b.line)
	if strings.HasPrefix(b.code, "package ") {
		return at + b.code
	}
	var s strings.Builder
	s.WriteString("package snippet\n")
	for _, path := range slices.Concat(append(slices.Collect(maps.Values(modules)), packages)...) {
		fmt.Fprintf(&s, "import %q\n", path)
	}
	if declares.MatchString(b.code) {
		return s.String() + prelude + at + b.code
	}
	return s.String() + prelude + "func snippet() {" + at + b.code + "\n}\n"
}

// exports returns the compiled packages that snippets use, with all that they import.
func exports(t *testing.T) importer.Lookup {
	t.Helper()
	files := map[string]string{}
	addExports(t, files, ".", packages)
	for dir, packages := range modules {
		addExports(t, files, dir, packages)
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
}

// addExports adds packages as they are compiled in a directory, except for those that files has.
func addExports(t *testing.T, files map[string]string, dir string, packages []string) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}, packages...)...)
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		if files[path] == "" {
			files[path] = file
		}
	}
}

// pages are the pages whose snippets are compiled.
func pages(t *testing.T) []string {
	t.Helper()
	found := []string{"../../README.md", "../../CONTRIBUTING.md"}
	err := filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}

// blocks returns the fenced blocks of a page in a language.
func blocks(t *testing.T, page, language string) []block {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var found []block
	open := -1
	for i, line := range bytes.Split(text, []byte("\n")) {
		switch {
		case open < 0 && string(line) == "```"+language:
			found, open = append(found, block{page: page, line: i + 2}), i
		case open >= 0 && string(line) == "```":
			open = -1
		case open >= 0:
			found[len(found)-1].code += string(line) + "\n"
		}
	}
	return found
}

var linked = regexp.MustCompile(`\]\(([^)#\s]+)`)

func TestPages_LinksLeadToFiles(t *testing.T) {
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range linked.FindAllSubmatch(text, -1) {
			target := string(link[1])
			if strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), target)); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

// width is how long a line of a page may be, in characters.
const width = 100

// TestPages_LinesFitOneWidth leaves out what cannot be broken: tables, code, pictures, a word;
// and pages that programs write.
func TestPages_LinesFitOneWidth(t *testing.T) {
	generated := []string{"../../docs/REDIS.md", "../../docs/COMPARISON.md"}
	for _, page := range append(pages(t), "../../CHANGELOG.md", "../../SECURITY.md", "../../bench/README.md") {
		if slices.Contains(generated, page) {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range longLines(string(text)) {
			t.Errorf("%s:%d has more than %d characters", page, n, width)
		}
	}
}

// longLines returns the numbers of the lines that should be broken.
func longLines(text string) []int {
	var long []int
	code := false
	for i, line := range strings.Split(text, "\n") {
		plain := strings.TrimSpace(line)
		if strings.HasPrefix(plain, "```") {
			code = !code
		}
		whole := code || strings.HasPrefix(plain, "|") || strings.HasPrefix(plain, "![") || !strings.Contains(plain, " ")
		if !whole && utf8.RuneCountInString(line) > width {
			long = append(long, i+1)
		}
	}
	return long
}

func TestPages_LongLinesAreFound(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 21)
	text := strings.Join([]string{long, "| " + long, "```", long, "```", "  " + long, strings.Repeat("x", 101), "![" + long}, "\n")
	if got := longLines(text); !slices.Equal(got, []int{1, 6}) {
		t.Errorf("lines %v, want 1 and 6", got)
	}
}
