package report

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The short table stands between these in the README.
const (
	shortBegin = "<!-- comparison -->"
	shortEnd   = "<!-- /comparison -->"
)

// short are the queues that most readers know or would build.
func (r *Result) short() *Result {
	few := *r
	few.Systems = nil
	for _, name := range []string{"dueq", "asynq", "asynq-tuned", "bullmq", "rabbitmq", "list-backup", "poll-lua"} {
		if i := slices.IndexFunc(r.Systems, func(s System) bool { return s.Name == name }); i >= 0 {
			few.Systems = append(few.Systems, r.Systems[i])
		}
	}
	return &few
}

// Short returns the table for the README: link and images are where the whole page and
// the plots are, as seen from there.
func Short(r *Result, link, images string) string {
	p := &page{Result: r.short(), images: images}
	p.head("queue", "lost: consumer killed", "early", "twice: two consumers", "late ms, p50 / p99",
		"catch up, messages/s", "server CPU µs/message", "bytes/message")
	for _, s := range p.Systems {
		p.row(s.title(), p.Faults(s.Name, "kill").cell(), p.early(s.Name), p.Faults(s.Name, "two").repeats(),
			p.lateCell(s.Name), p.median(s.Name, "drain", "per_s"), p.cpuCell(s), p.median(s.Name, "memory", "bytes"))
	}
	p.line("")
	p.line("Lost and twice: of %s messages; early: of %s. %s, %d cores of %s, one run, medians of %d rounds.",
		count(float64(p.Scale.Safety)), count(float64(p.Scale.Late)), p.Date.Format("2006-01-02"), p.Machine.Cores, p.Machine.CPU, p.Rounds)
	p.line("[%s](%s) has more designs, every figure, what each column means and how to repeat it.", link, link)
	p.line("")
	p.image("peers-short.svg", "Messages per second that a consumer hands out when it has catching up to do, and which queues break a promise")
	return p.text.String()
}

// insert puts the table between the marks.
func insert(text, table string) (string, error) {
	before, rest, begun := strings.Cut(text, shortBegin)
	_, after, ended := strings.Cut(rest, shortEnd)
	if !begun || !ended {
		return "", fmt.Errorf("the lines %s and %s are missing", shortBegin, shortEnd)
	}
	return before + shortBegin + "\n" + table + shortEnd + after, nil
}

func writeShort(r *Result, readme, page, images string) error {
	dir := filepath.Dir(readme)
	page, err := filepath.Rel(dir, page)
	if err != nil {
		return err
	}
	if images, err = filepath.Rel(dir, images); err != nil {
		return err
	}
	old, err := os.ReadFile(readme) //nolint:gosec // the file the user names
	if err != nil {
		return err
	}
	text, err := insert(string(old), Short(r, filepath.ToSlash(page), filepath.ToSlash(images)))
	if err != nil {
		return fmt.Errorf("%s: %w", readme, err)
	}
	return os.WriteFile(readme, []byte(text), 0o644) //nolint:gosec // for everybody to read
}
