package report

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// Sizes in a plot, in pixels.
const (
	plotWidth = 900
	labelEnd  = 300 // where labels end and bars begin
	barEnd    = 690 // where the longest bar ends; its value stands beyond
	rowHeight = 26
	topMargin = 62
)

// style follows the reader's preference for light or dark. Plots have a background of their own, because
// the page may not follow it. Nothing is shown by colour alone.
const style = `<style>
.back{fill:#fff;stroke:#d0d7de}text{font:13px system-ui,sans-serif;fill:#24292f}
.title{font-size:16px;font-weight:600}.own{font-weight:700}.note{fill:#57606a}
.good{fill:#0969da}.second{fill:#80bfff}.bad{fill:#bc4c00}.second-bad{fill:#f4b183}.axis{stroke:#d0d7de}.stroke-good{stroke:#0969da}.stroke-bad{stroke:#bc4c00}
@media (prefers-color-scheme:dark){.back{fill:#0d1117;stroke:#3d444d}text{fill:#e6edf3}.note{fill:#9198a1}.good{fill:#4493f8}.second{fill:#1f4f8f}
.bad{fill:#f0883e}.second-bad{fill:#8a4a1c}.axis{stroke:#3d444d}.stroke-good{stroke:#4493f8}.stroke-bad{stroke:#f0883e}}
</style>`

// svg is a plot in the making: a title and rows below each other.
type svg struct{ out strings.Builder }

func newSVG(title, note string, rows int) *svg {
	s := &svg{}
	height := topMargin + rows*rowHeight + 12
	fmt.Fprintf(&s.out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`,
		plotWidth, height, plotWidth, height, escape(title))
	s.out.WriteString("\n" + style + "\n")
	fmt.Fprintf(&s.out, `<path class="back" d="M.5 .5H%.1fV%.1fH.5z"/>`+"\n", plotWidth-.5, float64(height)-.5)
	s.text(12, 24, "title", "start", title)
	s.text(12, 44, "note", "start", note)
	return s
}

func (s *svg) end() string {
	s.out.WriteString("</svg>\n")
	return s.out.String()
}

func (s *svg) text(x float64, y int, class, anchor, text string) {
	fmt.Fprintf(&s.out, `<text x="%.1f" y="%d" class="%s" text-anchor="%s">%s</text>`+"\n", x, y, class, anchor, escape(text))
}

func (s *svg) rect(x float64, y int, width float64, class string) {
	fmt.Fprintf(&s.out, `<rect x="%.1f" y="%d" width="%.1f" height="%d" rx="2" class="%s"/>`+"\n", x, y, max(width, 1), rowHeight-10, class)
}

func (s *svg) line(x1 float64, y1 int, x2 float64, y2 int, class string, width int) {
	fmt.Fprintf(&s.out, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" class="%s" stroke-width="%d"/>`+"\n", x1, y1, x2, y2, class, width)
}

func (s *svg) label(row int, name string, own bool) {
	class := ""
	if own {
		class = "own"
	}
	s.text(labelEnd-10, rowTop(row)+13, class, "end", name)
}

func rowTop(row int) int { return topMargin + row*rowHeight }

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}

func (s *svg) dot(x float64, y int, class string) {
	fmt.Fprintf(&s.out, `<circle cx="%.1f" cy="%d" r="6" class="%s"/>`+"\n", x, y, class)
}
