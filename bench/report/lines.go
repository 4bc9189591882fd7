package report

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/dueq-dev/dueq/bench/peer"
)

// Lines counts the lines of a queue without its tests: those of the files that it names, or of its
// library. dir is the directory of this module.
func Lines(dir string, i peer.Info) (int, error) {
	files, err := codeOf(dir, i)
	if err != nil {
		return 0, err
	}
	total := 0
	for _, f := range files {
		b, err := os.ReadFile(f) //nolint:gosec // source files
		if err != nil {
			return 0, err
		}
		total += countLines(string(b), filepath.Ext(f))
	}
	return total, nil
}

func codeOf(dir string, i peer.Info) ([]string, error) {
	switch {
	case i.Library == "":
		files := make([]string, len(i.Code))
		for n, f := range i.Code {
			files[n] = filepath.Join(dir, f)
		}
		return files, nil
	case strings.Contains(i.Library, "/"):
		return goFiles(dir, i.Library)
	default:
		return npmFiles(filepath.Join(dir, i.Library, "node_modules", i.Library, "dist", "esm"))
	}
}

// goFiles returns the files of a Go package and of the packages of its module that it imports: code and
// embedded scripts.
func goFiles(dir, path string) ([]string, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=Dir,GoFiles,EmbedFiles,Module", path) //nolint:gosec,noctx // it ends
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var files []string
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			Dir                 string
			GoFiles, EmbedFiles []string
			Module              *struct{ Path string }
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return files, nil
		} else if err != nil {
			return nil, err
		}
		if p.Module == nil || p.Module.Path != path {
			continue
		}
		for _, f := range append(p.GoFiles, p.EmbedFiles...) {
			files = append(files, filepath.Join(p.Dir, f))
		}
	}
}

// npmFiles returns the code and the scripts of a package. It leaves out generated code, which has the
// scripts again as strings, and code for PostgreSQL.
func npmFiles(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "scripts" || d.Name() == "postgres") {
			return filepath.SkipDir
		}
		if ext := filepath.Ext(path); ext == ".js" || ext == ".lua" {
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

// countLines counts lines that are neither blank nor comments from their start. It does
// not know of block comments beyond what starts with a star, as most lines of them do.
func countLines(text, ext string) int {
	comments := []string{"//", "/*", "*"}
	if ext == ".lua" {
		comments = []string{"--"}
	}
	n := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !hasAnyPrefix(line, comments) {
			n++
		}
	}
	return n
}

func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
