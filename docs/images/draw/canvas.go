package main

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// style follows the reader's choice of light or dark. Nothing depends on color alone.
const style = `<style>
.back{fill:#fff;stroke:#d0d7de}text{font:13px system-ui,sans-serif;fill:#24292f}
.title{font-size:16px;font-weight:600}.note{fill:#57606a;font-size:12px}.strong{font-weight:600}.mono{font-family:ui-monospace,Menlo,Consolas,monospace}
.box{fill:#f6f8fa;stroke:#57606a}.held{fill:#ddf4ff;stroke:#0969da}.bad{fill:#fff1e5;stroke:#bc4c00}
.arrow{stroke:#57606a;fill:none}.dashed{stroke:#57606a;fill:none;stroke-dasharray:4 4}.head{fill:#57606a}
@media (prefers-color-scheme:dark){.back{fill:#0d1117;stroke:#3d444d}text{fill:#e6edf3}.note{fill:#9198a1}
.box{fill:#151b23;stroke:#9198a1}.held{fill:#121d2f;stroke:#4493f8}.bad{fill:#2b1a0d;stroke:#f0883e}
.arrow,.dashed{stroke:#9198a1}.head{fill:#9198a1}}
</style>`

// point is a place on a canvas, in pixels from its upper left corner.
type point struct{ x, y float64 }

// canvas is a picture in the making.
type canvas struct{ out strings.Builder }

func newCanvas(width, height int, title string) *canvas {
	c := &canvas{}
	fmt.Fprintf(&c.out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`,
		width, height, width, height, escape(title))
	c.out.WriteString("\n" + style + "\n")
	fmt.Fprintf(&c.out, `<path class="back" d="M.5 .5H%.1fV%.1fH.5z"/>`+"\n", float64(width)-.5, float64(height)-.5)
	c.text(point{16, 26}, "title", "start", title)
	return c
}

func (c *canvas) String() string { return c.out.String() + "</svg>\n" }

func (c *canvas) text(at point, class, anchor, text string) {
	fmt.Fprintf(&c.out, `<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`+"\n", at.x, at.y, class, anchor, escape(text))
}

// lines writes lines of text below each other.
func (c *canvas) lines(at point, class, anchor string, lines ...string) {
	for i, line := range lines {
		c.text(point{at.x, at.y + 16*float64(i)}, class, anchor, line)
	}
}

// box draws a rectangle with a line of text in its middle.
func (c *canvas) box(at point, width, height float64, class, text string) {
	c.bar(at, width, height, class)
	c.text(point{at.x + width/2, at.y + height/2 + 4.5}, "strong", "middle", text)
}

// bar draws a rectangle.
func (c *canvas) bar(at point, width, height float64, class string) {
	fmt.Fprintf(&c.out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="4" class="%s"/>`+"\n", at.x, at.y, width, height, class)
}

// path draws a line through points.
func (c *canvas) path(class string, points ...point) {
	fmt.Fprintf(&c.out, `<path class="%s" d="`, class)
	for i, p := range points {
		fmt.Fprintf(&c.out, "%c%.1f %.1f", "ML"[min(i, 1)], p.x, p.y)
	}
	c.out.WriteString("\"/>\n")
}

// arrow draws a line through points, with a head at the last one.
func (c *canvas) arrow(class string, points ...point) {
	c.path(class, points...)
	from, to := points[len(points)-2], points[len(points)-1]
	along := math.Atan2(to.y-from.y, to.x-from.x)
	side := func(turn float64) point {
		return point{to.x - 9*math.Cos(along+turn), to.y - 9*math.Sin(along+turn)}
	}
	a, b := side(.4), side(-.4)
	fmt.Fprintf(&c.out, `<path class="head" d="M%.1f %.1fL%.1f %.1fL%.1f %.1fz"/>`+"\n", to.x, to.y, a.x, a.y, b.x, b.y)
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}
