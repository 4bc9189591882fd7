package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// count is a flag for a whole number between limits.
type count struct {
	value    *int
	min, max int
}

func (c count) String() string {
	if c.value == nil {
		return ""
	}
	return strconv.Itoa(*c.value)
}

func (c count) Type() string { return "number" }

func (c count) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < c.min || n > c.max {
		return fmt.Errorf("want a whole number from %d to %d", c.min, c.max)
	}
	*c.value = n
	return nil
}

// counts is a flag for some whole numbers.
type counts struct {
	value    *[]int
	min, max int
}

// mostCounts bounds how long a run takes.
const mostCounts = 8

func (c counts) String() string {
	if c.value == nil {
		return ""
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(*c.value), " ", ","), "[]")
}

func (c counts) Type() string { return "numbers" }

func (c counts) Set(text string) error {
	parts := strings.Split(text, ",")
	if len(parts) > mostCounts {
		return fmt.Errorf("%d numbers, want at most %d", len(parts), mostCounts)
	}
	all := make([]int, len(parts))
	for i, part := range parts {
		if err := (count{&all[i], c.min, c.max}).Set(part); err != nil {
			return fmt.Errorf("%w, or up to %d of them with commas", err, mostCounts)
		}
		if slices.Contains(all[:i], all[i]) {
			return fmt.Errorf("%d is given twice", all[i])
		}
	}
	*c.value = all
	return nil
}

// limitedSpan is a span between limits.
type limitedSpan struct {
	value    *time.Duration
	min, max time.Duration
}

func (l limitedSpan) String() string { return span{l.value}.String() }
func (l limitedSpan) Type() string   { return span{}.Type() }

func (l limitedSpan) Set(text string) error {
	var d time.Duration
	if err := (span{&d}).Set(text); err != nil {
		return err
	}
	if d < l.min || d > l.max {
		return fmt.Errorf("want %s to %s", l.min, l.max)
	}
	*l.value = d
	return nil
}
