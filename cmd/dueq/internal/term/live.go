package term

import (
	"fmt"
	"io"
	"strings"
)

// Live shows lines and redraws them in place. It is for terminals only, and not safe for
// concurrent use.
type Live struct {
	W     io.Writer
	lines int // lines on the screen now
}

// Draw replaces the lines of the last Draw. Each line must fit the terminal's width.
func (l *Live) Draw(lines []string) error {
	var b strings.Builder
	l.back(&b)
	for _, line := range lines {
		b.WriteString(line + "\x1b[K\n")
	}
	b.WriteString("\x1b[J")
	l.lines = len(lines)
	return l.write(b.String())
}

// Clear removes the lines from the screen.
func (l *Live) Clear() error {
	if l.lines == 0 {
		return nil
	}
	var b strings.Builder
	l.back(&b)
	b.WriteString("\x1b[J")
	l.lines = 0
	return l.write(b.String())
}

func (l *Live) back(b *strings.Builder) {
	if l.lines > 0 {
		fmt.Fprintf(b, "\x1b[%dA\r", l.lines)
	}
}

func (l *Live) write(s string) error {
	if _, err := io.WriteString(l.W, s); err != nil {
		return fmt.Errorf("write to the terminal: %w", err)
	}
	return nil
}

// Bar returns a progress bar of the given width; done is a share from 0 to 1.
func Bar(done float64, width int) string {
	full := int(min(max(done, 0), 1) * float64(width))
	return "[" + strings.Repeat("#", full) + strings.Repeat("-", width-full) + "]"
}
