package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

type platform struct{ os, arch string }

// platforms returns what each release is built for.
func platforms() []platform {
	return []platform{
		{"linux", "amd64"},
		{"linux", "arm64"},
		{"darwin", "amd64"},
		{"darwin", "arm64"},
		{"windows", "amd64"},
		{"windows", "arm64"},
	}
}

// suffix returns what names of programs end with.
func (p platform) suffix() string {
	if p.os == "windows" {
		return ".exe"
	}
	return ""
}

// compile builds the command, and returns the program. It has its version from the tag of the clone.
func (s source) compile(ctx context.Context, p platform, work string) ([]byte, error) {
	path := filepath.Join(work, "dueq_"+p.os+"_"+p.arch+p.suffix())
	// -s leaves the information for debuggers out, so the compiler need not make any.
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=true", "-gcflags=all=-dwarf=false", "-ldflags=-s", "-o", path, "./cmd/dueq") //nolint:gosec // a path below a temporary directory
	cmd.Dir = s.dir
	// Settings of the developer's own would change the program.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=-mod=readonly", "GOWORK=off")
	if err := output(cmd).err; err != nil {
		return nil, err
	}
	return os.ReadFile(path) //nolint:gosec // as above
}

// extras returns the files that accompany the program in each archive.
func (s source) extras(ctx context.Context, work string) ([]file, error) {
	var all []file
	for _, name := range []string{"LICENSE", "README.md"} {
		content, err := os.ReadFile(filepath.Join(s.dir, name)) //nolint:gosec // a file of the clone
		if err != nil {
			return nil, err
		}
		all = append(all, file{name: name, mode: 0o644, content: content})
	}
	host := platform{runtime.GOOS, runtime.GOARCH}
	if _, err := s.compile(ctx, host, work); err != nil {
		return nil, err
	}
	program := filepath.Join(work, "dueq_"+host.os+"_"+host.arch+host.suffix())
	pages, err := manPages(ctx, program, filepath.Join(work, "man"))
	if err != nil {
		return nil, err
	}
	all = append(all, pages...)
	for _, shell := range []struct{ name, file string }{
		{"bash", "dueq.bash"}, {"fish", "dueq.fish"}, {"powershell", "dueq.ps1"}, {"zsh", "_dueq"},
	} {
		script := output(dueq(ctx, program, "completion", shell.name))
		if script.err != nil {
			return nil, script.err
		}
		all = append(all, file{name: "completions/" + shell.file, mode: 0o644, content: []byte(script.text)})
	}
	return all, nil
}

func manPages(ctx context.Context, program, dir string) ([]file, error) {
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // below a temporary directory
		return nil, err
	}
	if err := output(dueq(ctx, program, "man", dir)).err; err != nil {
		return nil, err
	}
	pages, err := os.ReadDir(dir) // sorted
	if err != nil {
		return nil, err
	}
	all := make([]file, len(pages))
	for i, page := range pages {
		all[i] = file{name: "man/" + page.Name(), mode: 0o644}
		if all[i].content, err = os.ReadFile(filepath.Join(dir, page.Name())); err != nil { //nolint:gosec // as above
			return nil, err
		}
	}
	return all, nil
}

// dueq returns the command with an empty environment, so that no setting gets into its texts.
func dueq(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // the program that was built
	cmd.Env = []string{"SystemRoot=" + os.Getenv("SystemRoot")}
	return cmd
}
