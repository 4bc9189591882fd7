package term

import (
	"bytes"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	xterm "golang.org/x/term"
)

// Table returns rows in aligned columns under a header. Every cell is escaped.
func Table(header []string, rows [][]string) string {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	line(w, header)
	for _, row := range rows {
		line(w, row)
	}
	_ = w.Flush() // a bytes.Buffer returns no errors
	return trimLines(b.String())
}

func line(w io.Writer, cells []string) {
	escaped := make([]string, len(cells))
	for i, cell := range cells {
		escaped[i] = Escape(cell)
	}
	_, _ = io.WriteString(w, strings.Join(escaped, "\t")+"\n") // see Table
}

// trimLines removes the blanks that pad an empty last column.
func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// IsTerminal reports whether stream, a reader or a writer, is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && xterm.IsTerminal(int(f.Fd()))
}

// Width returns how many characters fit on a line of the terminal w, or fallback.
func Width(w io.Writer, fallback int) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := xterm.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return fallback
}
