package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const modulePath = "github.com/dueq-dev/dueq"

// modules returns the directories of the modules that require the main module and are published with it.
func modules() []string { return []string{"dueqprom", "dueqotel"} }

// tags returns the tags of a release, that of the main module first.
func (r *release) tags() []string {
	all := slices.Insert(modules(), 0, "")
	for i, dir := range all {
		all[i] = path.Join(dir, r.version)
	}
	return all
}

// bundleName is the file from which git fetches the commit and the tags of the release.
const bundleName = "commit-and-tags.bundle"

// source is a clone of the repository at the commit of the release.
type source struct {
	dir  string
	time time.Time // of the commit
}

// source makes the clone in dir, with the commit and the tags of the release, and writes them to a
// bundle. The repository of the developer is only read.
//
// The commit makes the other modules require this version of the main module. In the repository they
// use the one beside them (replace), also at this commit; other builds ignore that. So all tags name
// one commit.
func (r *release) source(ctx context.Context, dir, bundleDir string) (source, error) {
	s := source{dir: dir}
	repository, err := filepath.Abs(r.repository)
	if err != nil {
		return s, err
	}
	if _, err := git(ctx, repository, nil, "clone", "--quiet", "--no-tags", "--no-local", repository, dir); err != nil {
		return s, err
	}
	base, err := git(ctx, dir, nil, "rev-parse", "HEAD")
	if err != nil {
		return s, err
	}
	stamp, err := stampOf(ctx, dir)
	if err != nil {
		return s, err
	}
	for _, module := range modules() {
		if err := require(ctx, filepath.Join(dir, module), r.version); err != nil {
			return s, err
		}
	}
	if changed, err := git(ctx, dir, nil, "status", "--porcelain"); err != nil {
		return s, err
	} else if changed != "" {
		if _, err := git(ctx, dir, stamp, "commit", "--quiet", "--all", "--no-gpg-sign", "--no-verify", "--message", "release: "+r.version); err != nil {
			return s, err
		}
	}
	bundle := []string{"bundle", "create", "--quiet", filepath.Join(bundleDir, bundleName)}
	for _, tag := range r.tags() {
		if _, err := git(ctx, dir, stamp, "tag", "--annotate", "--no-sign", "--message", tag, tag); err != nil {
			return s, err
		}
		bundle = append(bundle, "refs/tags/"+tag)
	}
	if _, err := git(ctx, dir, nil, append(bundle, "^"+base)...); err != nil {
		return s, err
	}
	s.time, err = commitTime(ctx, dir)
	return s, err
}

// stampOf returns the variables that give a commit and tags the names and times of HEAD, so that
// each run makes the same ones.
func stampOf(ctx context.Context, dir string) ([]string, error) {
	text, err := git(ctx, dir, nil, "log", "-1", "--format=%cn%n%ce%n%ct +0000")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(text, "\n")
	if len(lines) != 3 {
		return nil, fmt.Errorf("HEAD has the committer %q, want a name, an address and a time", text)
	}
	var all []string
	for _, role := range []string{"GIT_AUTHOR_", "GIT_COMMITTER_"} {
		all = append(all, role+"NAME="+lines[0], role+"EMAIL="+lines[1], role+"DATE="+lines[2])
	}
	return all, nil
}

func commitTime(ctx context.Context, dir string) (time.Time, error) {
	text, err := git(ctx, dir, nil, "log", "-1", "--format=%ct")
	if err != nil {
		return time.Time{}, err
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}

// require makes the module in dir require a version of the main module.
func require(ctx context.Context, dir, version string) error {
	cmd := exec.CommandContext(ctx, "go", "mod", "edit", "-require="+modulePath+"@"+version) //nolint:gosec // a version that was checked
	cmd.Dir = dir
	return output(cmd).err
}

// git runs git in dir, with more variables, and returns what it prints, without the last newline.
func git(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	// Hooks and conversions that a user has configured would change the result.
	args = append([]string{"-c", "core.hooksPath=" + os.DevNull, "-c", "core.autocrlf=false"}, args...)
	cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // the callers' own words, and paths
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	o := output(cmd)
	return strings.TrimSuffix(o.text, "\n"), o.err
}

type outcome struct {
	text string // standard output
	err  error  // with standard error
}

func output(cmd *exec.Cmd) outcome {
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, stderr.String())
	}
	return outcome{string(out), err}
}
