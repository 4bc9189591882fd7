package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

const tested = "v1.2.3"

// TestRelease_OnePlatform builds the working tree as a release for the system of the test, twice.
func TestRelease_OnePlatform(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED with -short: no release is built")
	}
	r := workingTree(t)
	host := platform{runtime.GOOS, runtime.GOARCH}
	r.platforms = []platform{host}
	var out strings.Builder
	if err := r.run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	first := filesOf(t, filepath.Join(r.dist, tested))
	name := "dueq_1.2.3_" + host.os + "_" + host.arch
	content := contentOf(t, name, first)
	for _, want := range []string{"LICENSE", "README.md", "man/dueq.1", "man/dueq-send.1", "completions/dueq.bash", "completions/_dueq", "completions/dueq.fish", "completions/dueq.ps1"} {
		if len(content[want]) == 0 {
			t.Errorf("the archive has no %s, or an empty one", want)
		}
	}
	if page := content["man/dueq.1"]; !strings.Contains(page, "dueq "+tested) {
		t.Errorf("the manual does not name the version: %.100s", page)
	}
	commit := checkTags(t, r)
	checkVersion(t, content["dueq"+host.suffix()], commit)
	checkSBOM(t, []byte(content["dueq"+host.suffix()]), []byte(first[name+".cdx.json"]))
	checkSums(t, first)
	for _, tag := range r.tags() {
		if strings.Count(out.String(), " "+tag) < 2 {
			t.Errorf("the commands that are printed do not fetch and push the tag %s:\n%s", tag, out.String())
		}
	}
	if status, err := git(t.Context(), r.repository, nil, "status", "--porcelain"); err != nil || status != "" {
		t.Errorf("the repository has changes: %s, %v", status, err)
	}
	if err := r.run(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	delete(first, bundleName)
	again := filesOf(t, filepath.Join(r.dist, tested))
	for name := range first {
		if first[name] != again[name] {
			t.Errorf("%s has other bytes the second time", name)
		}
	}
}

// workingTree returns a release from a repository with the files as they are now, in which
// CHANGELOG.md has a section for the version.
func workingTree(t *testing.T) *release {
	t.Helper()
	top, err := git(t.Context(), ".", nil, "rev-parse", "--show-toplevel")
	if err != nil {
		t.Skip("SKIPPED: this is no git repository: no release is built: ", err)
	}
	names, err := git(t.Context(), top, nil, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	if err != nil {
		t.Fatal(err)
	}
	r := repository(t, "")
	for name := range strings.SplitSeq(strings.TrimSuffix(names, "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(top, name))
		if errors.Is(err, fs.ErrNotExist) { // deleted, and not yet committed
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		put(t, r, name, string(content))
	}
	put(t, r, "CHANGELOG.md", section)
	commit(t, r)
	return r
}

const section = "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-31\n\n### Added\n\n- Everything.\n"

// repository returns a release from a new repository with a CHANGELOG.md and the modules.
func repository(t *testing.T, changelog string) *release {
	t.Helper()
	r := &release{version: tested, repository: t.TempDir(), dist: t.TempDir()}
	if _, err := git(t.Context(), r.repository, nil, "init", "--quiet"); err != nil {
		t.Fatal(err)
	}
	put(t, r, "CHANGELOG.md", changelog)
	for _, module := range modules() {
		put(t, r, module+"/go.mod", "module "+modulePath+"/"+module+"\n\nreplace "+modulePath+" => ../\n")
	}
	commit(t, r)
	return r
}

func put(t *testing.T, r *release, name, content string) {
	t.Helper()
	path := filepath.Join(r.repository, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, r *release) {
	t.Helper()
	who := []string{
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
		"GIT_COMMITTER_DATE=1700000000 +0100", "GIT_AUTHOR_DATE=1700000000 +0100",
	}
	for _, args := range [][]string{{"add", "--all"}, {"commit", "--quiet", "--no-gpg-sign", "--allow-empty", "--message", "a"}} {
		if _, err := git(t.Context(), r.repository, who, args...); err != nil {
			t.Fatal(err)
		}
	}
}

func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[entry.Name()] = string(content)
	}
	return all
}

// contentOf returns the files of an archive, without the directory that all of them are in.
func contentOf(t *testing.T, name string, published map[string]string) map[string]string {
	t.Helper()
	all := map[string]string{}
	if packed, is := published[name+".zip"]; is {
		r, err := zip.NewReader(strings.NewReader(packed), int64(len(packed)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.File {
			content, err := fs.ReadFile(r, f.Name)
			if err != nil {
				t.Fatal(err)
			}
			all[strings.TrimPrefix(f.Name, name+"/")] = string(content)
			if f.Modified.Unix() != 1700000000 {
				t.Errorf("%s has the time %s", f.Name, f.Modified)
			}
			if executable := f.Mode() == 0o755; executable != strings.HasSuffix(f.Name, ".exe") { // for those who unpack it elsewhere
				t.Errorf("%s has the mode %s", f.Name, f.Mode())
			}
		}
		return all
	}
	packed, err := gzip.NewReader(strings.NewReader(published[name+".tar.gz"]))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(packed); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		content, readErr := io.ReadAll(r)
		if err = errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		all[strings.TrimPrefix(header.Name, name+"/")] = string(content)
		if header.Uid != 0 || header.Gid != 0 || header.Uname != "" || header.ModTime.Unix() != 1700000000 {
			t.Errorf("%s has an owner or a time of its own: %+v", header.Name, header)
		}
		if executable := header.Mode == 0o755; executable != (header.Name == name+"/dueq") {
			t.Errorf("%s has the mode %o", header.Name, header.Mode)
		}
	}
}

// checkTags fetches the tags as the printed commands do. It returns their commit.
func checkTags(t *testing.T, r *release) string {
	t.Helper()
	args := []string{"fetch", "--quiet", filepath.Join(r.dist, tested, bundleName)}
	clone := t.TempDir()
	if _, err := git(t.Context(), ".", nil, "clone", "--quiet", r.repository, clone); err != nil {
		t.Fatal(err)
	}
	for _, tag := range r.tags() {
		args = append(args, "tag", tag)
	}
	if _, err := git(t.Context(), clone, nil, args...); err != nil {
		t.Fatal(err)
	}
	commit, err := git(t.Context(), clone, nil, "rev-parse", tested+"^{commit}")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range modules() {
		if named, err := git(t.Context(), clone, nil, "rev-parse", dir+"/"+tested+"^{commit}"); err != nil || named != commit {
			t.Errorf("the tag of %s names %s, want %s: %v", dir, named, commit, err)
		}
		mod, err := git(t.Context(), clone, nil, "show", commit+":"+dir+"/go.mod")
		if err != nil || !regexp.MustCompile(`(?m)^(require)?\s*`+regexp.QuoteMeta(modulePath+" "+tested)+`$`).MatchString(mod) {
			t.Errorf("%s does not require %s, %v:\n%s", dir, tested, err, mod)
		}
	}
	if _, err := git(t.Context(), clone, nil, "merge", "--quiet", "--ff-only", tested); err != nil {
		t.Error(err)
	}
	return commit
}

// checkVersion runs "dueq version".
func checkVersion(t *testing.T, program, commit string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dueq")
	if err := os.WriteFile(path, []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), path, "version").Output()
	if want := "dueq " + tested + " (" + commit + "), " + runtime.Version(); err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("the version is %q (%v), want %q", out, err, want)
	}
}

var (
	serials = regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	purls   = regexp.MustCompile(`^pkg:golang/[^@\s]+@[^@\s]+$`)
)

// checkSBOM checks what the schema of CycloneDX 1.6 demands of the parts that are written, and that
// all modules are there.
func checkSBOM(t *testing.T, program, text []byte) {
	t.Helper()
	var b bom
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		t.Fatal(err)
	}
	if b.Format != "CycloneDX" || b.Spec != "1.6" || b.Version != 1 || !serials.MatchString(b.Serial) {
		t.Errorf("the head is %+v", b)
	}
	if _, err := time.Parse(time.RFC3339, b.Metadata.Time); err != nil {
		t.Error(err)
	}
	main := b.Metadata.Component
	if want := fmt.Sprintf("%x", sha256.Sum256(program)); main.Type != "application" || main.Version != tested || len(main.Hashes) != 1 || main.Hashes[0] != (hash{"SHA-256", want}) {
		t.Errorf("the program is %+v, want version %s, hash %s", main, tested, want)
	}
	var refs []string
	for _, c := range b.Components {
		if c.Type != "library" || c.Name == "" || c.Version == "" || !purls.MatchString(c.PURL) || slices.Contains(refs, c.Ref) {
			t.Errorf("component %+v", c)
		}
		refs = append(refs, c.Ref)
	}
	if len(b.Dependencies) != 1 || b.Dependencies[0].Ref != main.Ref || !slices.Equal(b.Dependencies[0].Uses, refs) {
		t.Errorf("dependencies %+v, want all of %q", b.Dependencies, refs)
	}
	for _, want := range []string{"std", "github.com/redis/go-redis/v9", "github.com/spf13/cobra"} {
		if !slices.ContainsFunc(b.Components, func(c component) bool { return c.Name == want }) {
			t.Errorf("%s is missing", want)
		}
	}
}

func checkSums(t *testing.T, published map[string]string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(published[sumsName]), "\n")
	if len(lines) != len(published)-2 {
		t.Errorf("%d sums of %d files: %q", len(lines), len(published)-2, lines)
	}
	for _, line := range lines {
		sum, name, _ := strings.Cut(line, "  ")
		if want := fmt.Sprintf("%x", sha256.Sum256([]byte(published[name]))); sum != want {
			t.Errorf("the sum of %s is %s, want %s", name, sum, want)
		}
	}
}

func TestRelease_Refused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		version, changelog, want string
		change                   func(*release)
	}{
		"no v":                   {version: "1.2.3", want: `version "1.2.3": want a semantic version`},
		"two numbers":            {version: "v1.2", want: "want a semantic version"},
		"a leading zero":         {version: "v1.02.3", want: "want a semantic version"},
		"a leading zero, pre":    {version: "v1.2.3-01", want: "want a semantic version"},
		"build metadata":         {version: "v1.2.3+linux", want: "want a semantic version"},
		"a path":                 {version: "v1.2.3-/../x", want: "want a semantic version"},
		"v2":                     {version: "v2.0.0", want: "Go wants v2 at the end of the path"},
		"no section":             {changelog: "## [Unreleased]\n\n- x\n", want: `CHANGELOG.md has no section "## [1.2.3] - YYYY-MM-DD"`},
		"only that of a rc":      {changelog: "## [1.2.3-rc.1] - 2026-01-31\n\n- x\n", want: "has no section"},
		"no date":                {changelog: "## [1.2.3]\n\n- x\n", want: "has no section"},
		"an empty section":       {changelog: "## [1.2.3] - 2026-01-31\n\n### Added\n\n## [1.2.2] - 2026-01-01\n\n- x\n", want: "says nothing"},
		"a file is new":          {change: func(r *release) { put(t, r, "new", "x") }, want: "?? new"},
		"a file is changed":      {change: func(r *release) { put(t, r, "CHANGELOG.md", section+"- x\n") }, want: "M CHANGELOG.md"},
		"tagged at another":      {change: func(r *release) { tag(t, r, tested); put(t, r, "new", "x"); commit(t, r) }, want: "tag v1.2.3 exists"},
		"another one is tagged":  {change: func(r *release) { tag(t, r, "dueqotel/"+tested); put(t, r, "new", "x"); commit(t, r) }, want: "tag dueqotel/v1.2.3 exists"},
		"tagged here (no error)": {change: func(r *release) { tag(t, r, tested) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.changelog == "" {
				test.changelog = section
			}
			r := repository(t, test.changelog)
			if test.version != "" {
				r.version = test.version
			}
			if test.change != nil {
				test.change(r)
			}
			err := r.check(t.Context())
			if test.want == "" && err == nil {
				return
			}
			if err == nil || test.want == "" || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if entries, _ := os.ReadDir(r.dist); len(entries) > 0 {
				t.Errorf("%d files were written", len(entries))
			}
		})
	}
}

func tag(t *testing.T, r *release, name string) {
	t.Helper()
	if _, err := git(t.Context(), r.repository, nil, "-c", "user.name=a", "-c", "user.email=a@example.org", "tag", "--no-sign", "--annotate", "--message", "x", name); err != nil {
		t.Fatal(err)
	}
}

// TestRelease_Zip writes the archive for Windows, which the release of this system may not have.
func TestRelease_Zip(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := []file{{"dueq.exe", 0o755, []byte("program")}, {"man/dueq.1", 0o644, []byte("page")}}
	if err := (platform{os: "windows"}).archive(filepath.Join(dir, "a"), "a", files, time.Unix(1700000000, 0).UTC()); err != nil {
		t.Fatal(err)
	}
	content := contentOf(t, "a", filesOf(t, dir))
	if len(content) != 2 || content["dueq.exe"] != "program" || content["man/dueq.1"] != "page" {
		t.Errorf("the archive has %q", content)
	}
}
