// Command release builds the archives of a release, and the commit and tags that belong to it:
//
//	go run ./internal/release v1.2.3
//
// It writes to dist/v1.2.3 only, and pushes nothing. Two runs for one commit, with the same version
// of Go, write the same bytes.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		_, _ = fmt.Fprintln(os.Stderr, "usage: make release VERSION=v1.2.3")
		os.Exit(2)
	}
	r := release{version: os.Args[1], repository: ".", dist: "dist", platforms: platforms()}
	if err := r.run(ctx, os.Stdout); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is what is built and where.
type release struct {
	version    string     // v1.2.3
	repository string     // directory of the main module, with .git
	dist       string     // the release is written to a directory below
	platforms  []platform // what it is built for
}

// run builds the release, or returns why there is none.
func (r *release) run(ctx context.Context, out io.Writer) error {
	if err := r.check(ctx); err != nil {
		return err
	}
	dir, err := filepath.Abs(filepath.Join(r.dist, r.version))
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil { // an earlier run may have been interrupted
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // what is published may be read
		return err
	}
	work, err := os.MkdirTemp("", "dueq-release")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }() // a copy
	if err := r.build(ctx, work, dir); err != nil {
		return err
	}
	return r.report(out, dir)
}

// build writes all files of the release to dir, and uses work for what is not published.
func (r *release) build(ctx context.Context, work, dir string) error {
	s, err := r.source(ctx, filepath.Join(work, "source"), dir)
	if err != nil {
		return err
	}
	extras, err := s.extras(ctx, work)
	if err != nil {
		return err
	}
	for _, p := range r.platforms {
		program, err := s.compile(ctx, p, work)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("dueq_%s_%s_%s", r.version[1:], p.os, p.arch)
		files := append([]file{{name: "dueq" + p.suffix(), mode: 0o755, content: program}}, extras...)
		if err := p.archive(filepath.Join(dir, name), name, files, s.time); err != nil {
			return err
		}
		if err := writeSBOM(filepath.Join(dir, name+".cdx.json"), program, s.time); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return writeSums(dir)
}

// report prints what was built, and the commands that publish it.
func (r *release) report(out io.Writer, dir string) error {
	sums, err := os.ReadFile(filepath.Join(dir, sumsName)) //nolint:gosec // a file that was written here
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s\n\n%s\nNothing is pushed. To publish the release:\n\n  git fetch %s", dir, sums, filepath.Join(dir, bundleName))
	push := "  git merge --ff-only " + r.version + "\n  git push --atomic origin HEAD"
	for _, tag := range r.tags() {
		text += fmt.Sprintf(" tag %s", tag)
		push += " " + tag
	}
	_, err = fmt.Fprintf(out, "%s\n%s\n", text, push)
	return err
}
