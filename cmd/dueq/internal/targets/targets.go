// Package targets reads the file that says to which endpoints "dueq serve" posts messages.
package targets

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqhttp/push"
	"github.com/dueq-dev/dueq/internal/when"
	"github.com/dueq-dev/dueq/store"
)

// Target is where the messages of a queue are posted.
type Target struct {
	Queue string
	push.Target
	Concurrency int // requests at a time

	given map[string]bool // settings that the file has
}

// Limits of a file.
const (
	MaxFile        = 1 << 20 // bytes
	maxTargets     = 1000
	maxConcurrency = 1000

	defaultConcurrency = 10
)

// Parse reads targets: for each a line with the queue in brackets, and below it a line NAME =
// VALUE for each setting. Empty lines, and those that begin with #, are ignored. Errors have the
// number of the line, and not its value, which may be a secret.
func Parse(text []byte) ([]Target, error) {
	if len(text) > MaxFile {
		return nil, fmt.Errorf("%d bytes, the limit is %d", len(text), MaxFile)
	}
	var all []Target
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, MaxFile+1)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		var err error
		if all, err = add(all, line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	for i := range all {
		if _, err := push.Handler(all[i].Target); err != nil {
			return nil, fmt.Errorf("[%s]: %w", all[i].Queue, err)
		}
	}
	return all, nil
}

// add adds a line to the targets before it.
func add(all []Target, line string) ([]Target, error) {
	if line[0] == '[' {
		t, err := begin(all, line)
		return append(all, t), err
	}
	name, value, ok := strings.Cut(line, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case !ok || value == "":
		return nil, errors.New("want [QUEUE] or NAME = VALUE")
	case len(all) == 0:
		return nil, errors.New("is before the first [QUEUE]")
	}
	return all, all[len(all)-1].set(name, value)
}

// begin returns a target that a line begins.
func begin(all []Target, line string) (t Target, err error) {
	queue, ok := strings.CutSuffix(line[1:], "]")
	if !ok {
		return t, errors.New("want [QUEUE]")
	}
	if err := store.ValidateQueue(queue); err != nil {
		return t, err
	}
	if slices.ContainsFunc(all, func(t Target) bool { return t.Queue == queue }) {
		return t, fmt.Errorf("[%s] has a target already", queue)
	}
	if len(all) == maxTargets {
		return t, fmt.Errorf("more than %d targets", maxTargets)
	}
	return Target{Queue: queue, Concurrency: defaultConcurrency, given: map[string]bool{}}, nil
}

// set sets a setting.
func (t *Target) set(name, value string) error {
	if t.given[name] && name != "secret" {
		return fmt.Errorf("%.40q is given twice", name)
	}
	t.given[name] = true
	var err error
	switch name {
	case "url":
		t.URL = value
	case "secret":
		t.Secrets = append(t.Secrets, value)
	case "content-type":
		t.ContentType = value
	case "timeout":
		t.Timeout, err = when.Span(value)
	case "concurrency":
		t.Concurrency, err = strconv.Atoi(value)
		if err != nil || t.Concurrency < 1 || t.Concurrency > maxConcurrency {
			err = fmt.Errorf("want a number from 1 to %d", maxConcurrency)
		}
	case "rate":
		t.Rate, err = when.Rate(value)
	case "reject":
		err = t.setReject(value)
	case "allow":
		t.Allow = list(value)
	default:
		return fmt.Errorf("%.40q is not a setting of a target: %w", name, dueq.ErrInvalid)
	}
	if err != nil {
		return fmt.Errorf("%s: %+.64q: %w", name, value, err)
	}
	return nil
}

func (t *Target) setReject(value string) error {
	for _, text := range list(value) {
		status, err := strconv.Atoi(text)
		if err != nil {
			return errors.New("want statuses such as 400,410")
		}
		t.Reject = append(t.Reject, status)
	}
	return nil
}

// list returns the parts of a value with commas.
func list(value string) []string {
	parts := strings.Split(value, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}
