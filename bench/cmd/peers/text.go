package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/dueq-dev/dueq/bench/report"
)

// logf reports progress on standard error; standard output is for results.
func logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

func oneLine(s report.Sample) string {
	if s.Excuse != "" {
		return "- " + s.Excuse
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.Values)) {
		fmt.Fprintf(&b, "%s=%.4g ", name, s.Values[name])
	}
	if s.Error != "" {
		fmt.Fprintf(&b, "ERROR %s", s.Error)
	}
	return b.String()
}

// shortened returns the beginning of an error, which can have a line for each message.
func shortened(text string) string {
	const most = 1000
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " ..."
}

func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}
