package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// versions are those of Semantic Versioning 2.0.0 that can be a tag of a Go module: they begin with
// v and have no build metadata.
var versions = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(` + preRelease + `)(\.(` + preRelease + `))*)?$`)

const preRelease = `0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*`

// check returns why the version cannot be released from the repository as it is.
func (r *release) check(ctx context.Context) error {
	parts := versions.FindStringSubmatch(r.version)
	switch {
	case parts == nil:
		return fmt.Errorf("version %q: want a semantic version such as v1.2.3 or v1.2.3-rc.1", r.version)
	case parts[1] != "0" && parts[1] != "1":
		return fmt.Errorf("version %q: Go wants v%s at the end of the path of a module from v2 on", r.version, parts[1])
	}
	if err := r.checkChangelog(); err != nil {
		return err
	}
	changed, err := git(ctx, r.repository, nil, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the working tree has changes that are not committed:\n%s", changed)
	}
	return r.checkTags(ctx)
}

// checkChangelog returns an error if CHANGELOG.md has no section for the version, or an empty one.
func (r *release) checkChangelog() error {
	text, err := os.ReadFile(filepath.Join(r.repository, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	heading := regexp.MustCompile(`(?m)^## \[` + regexp.QuoteMeta(r.version[1:]) + `\] - \d{4}-\d{2}-\d{2}\n`)
	at := heading.FindIndex(text)
	if at == nil {
		return fmt.Errorf("CHANGELOG.md has no section %q", "## ["+r.version[1:]+"] - YYYY-MM-DD")
	}
	section, _, _ := strings.Cut(string(text[at[1]:]), "\n## ")
	for line := range strings.Lines(section) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return nil
		}
	}
	return fmt.Errorf("CHANGELOG.md: the section of %s says nothing", r.version)
}

// checkTags returns an error if a tag of the version names another commit than HEAD: a version is
// published once. To build again what a tag names is allowed.
func (r *release) checkTags(ctx context.Context) error {
	head, err := git(ctx, r.repository, nil, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	for _, tag := range r.tags() {
		tagged, err := git(ctx, r.repository, nil, "for-each-ref", "--format=%(if)%(*objectname)%(then)%(*objectname)%(else)%(objectname)%(end)", "refs/tags/"+tag)
		if err != nil {
			return err
		}
		if tagged != "" && tagged != head {
			return errors.New("tag " + tag + " exists, and names another commit than HEAD")
		}
	}
	return nil
}
