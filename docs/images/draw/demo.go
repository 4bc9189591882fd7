package main

import (
	_ "embed"
	"strings"
)

// demoOutput is a part of what a run of "dueq demo" has printed.
//
//go:embed demo.txt
var demoOutput string

// demo draws a terminal in which the demo has run.
func demo() string {
	lines := strings.Split(strings.TrimRight(demoOutput, "\n"), "\n")
	const top, height = 56, 19
	c := newCanvas(880, top+height*len(lines)+8, "go run ./cmd/dueq demo")
	for i, line := range lines {
		// No-break spaces keep the columns: blanks at the beginning and in a row would be dropped.
		c.text(point{16, float64(top + height*i)}, "mono", "start", strings.ReplaceAll(line, " ", "\u00a0"))
	}
	return c.String()
}
