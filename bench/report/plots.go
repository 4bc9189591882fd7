package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/dueq-dev/dueq/bench/peer"
)

// plots returns the plots by file name. Orange marks queues that have broken a promise; they follow the
// others. Both groups are sorted, the best first.
func plots(r *Result) map[string]string {
	return map[string]string{
		"peers-drain.svg":    drainPlot(r),
		"peers-short.svg":    drainPlot(r.short()),
		"peers-cost.svg":     costPlot(r),
		"peers-memory.svg":   memoryPlot(r),
		"peers-lateness.svg": latenessPlot(r),
	}
}

// bar is a row of a plot: one or two values after each other, and words behind them.
type bar struct {
	name   string
	own    bool
	values []float64
	bad    bool
	note   string
}

func (b bar) total() float64 {
	sum := 0.0
	for _, v := range b.values {
		sum += v
	}
	return sum
}

func bars(title, note string, all []bar) string {
	s := newSVG(title, note, len(all))
	longest := slices.MaxFunc(append(all, bar{}), func(a, b bar) int { return cmp.Compare(a.total(), b.total()) }).total()
	for i, b := range all {
		s.label(i, b.name, b.own)
		x := float64(labelEnd)
		for k, v := range b.values {
			width := v / max(longest, 1e-9) * (barEnd - labelEnd)
			s.rect(x, rowTop(i), width, b.class(k))
			x += width
		}
		s.text(x+8, rowTop(i)+13, "", "start", number(b.total())+b.note)
	}
	return s.end()
}

func (b bar) class(part int) string {
	switch {
	case b.bad && part == 1:
		return "second-bad"
	case b.bad:
		return "bad"
	case part == 1:
		return "second"
	}
	return "good"
}

// served are the queues that have a server. The bar of one without would be so long that those of the
// others could not be compared.
func served(r *Result) []System {
	return slices.DeleteFunc(slices.Clone(r.Systems), func(s System) bool { return s.Server == peer.None })
}

// bar returns the row of a system; orange marks what breaks a promise.
func (r *Result) bar(s System, values ...float64) bar {
	return bar{name: s.Title, own: s.Name == "dueq", values: values, bad: !r.Safety(s.Name).Safe()}
}

const orange = " Orange: loses or strands messages, repeats them, or is early."

func drainPlot(r *Result) string {
	var all []bar
	for _, s := range served(r) {
		if rate := r.Stat(s.Name, "drain", "per_s"); rate.Rounds > 0 {
			b := r.bar(s, rate.Median)
			if b.bad {
				b.note = " - " + r.Safety(s.Name).String()
			}
			all = append(all, b)
		}
	}
	slices.SortStableFunc(all, func(a, b bar) int {
		return cmp.Or(badLast(a.bad, b.bad), cmp.Compare(b.total(), a.total()))
	})
	return bars("Catching up: messages per second", "Handler does nothing. Longer is better."+orange, all)
}

func costPlot(r *Result) string {
	var all []bar
	for _, s := range served(r) {
		if send, drain := r.serverCPU(s.Name); send.Rounds > 0 && drain.Rounds > 0 {
			all = append(all, r.bar(s, send.Median, drain.Median))
		}
	}
	slices.SortStableFunc(all, shorter)
	return bars("CPU of the server for one message, microseconds",
		"To send it, then to hand it out. Shorter is better."+orange, all)
}

func memoryPlot(r *Result) string {
	var all []bar
	for _, s := range served(r) {
		if m := r.Stat(s.Name, "memory", "bytes"); m.Rounds > 0 {
			all = append(all, r.bar(s, m.Median))
		}
	}
	slices.SortStableFunc(all, shorter)
	return bars("Memory of the server for one pending message, bytes", "The body is 100 of them. Shorter is better."+orange, all)
}

func shorter(a, b bar) int {
	return cmp.Or(badLast(a.bad, b.bad), cmp.Compare(a.total(), b.total()))
}

func badLast(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Lateness is plotted from 0.1 ms to 10 s by powers of ten.
const (
	firstPower = -1
	lastPower  = 4
)

func latenessX(ms float64) float64 {
	power := math.Log10(max(ms, 0.1))
	part := (min(power, lastPower) - firstPower) / (lastPower - firstPower)
	return labelEnd + part*(barEnd-labelEnd)
}

func latenessPlot(r *Result) string {
	systems := slices.DeleteFunc(slices.Clone(r.Systems), func(s System) bool {
		return r.Stat(s.Name, "lateness", "p99_ms").Rounds == 0
	})
	slices.SortStableFunc(systems, func(a, b System) int {
		return cmp.Or(badLast(!r.Safety(a.Name).Safe(), !r.Safety(b.Name).Safe()),
			cmp.Compare(r.Stat(a.Name, "lateness", "p99_ms").Median, r.Stat(b.Name, "lateness", "p99_ms").Median))
	})
	s := newSVG("Lateness: from due time to handler, milliseconds",
		"Dot: median; end of the line: 99 of 100; log scale. Left is better."+orange, len(systems)+1)
	for i, name := range []string{"0.1 ms", "1 ms", "10 ms", "100 ms", "1 s", "10 s"} {
		x := latenessX(math.Pow10(firstPower + i))
		s.line(x, topMargin, x, rowTop(len(systems)), "axis", 1)
		s.text(x, rowTop(len(systems))+16, "note", "middle", name)
	}
	for i, system := range systems {
		s.lateness(i, system, r)
	}
	return s.end()
}

func (s *svg) lateness(row int, system System, r *Result) {
	p50, p99 := r.Stat(system.Name, "lateness", "p50_ms").Median, r.Stat(system.Name, "lateness", "p99_ms").Median
	early := r.Faults(system.Name, "lateness").Early
	class, note := "good", number(p50)+" / "+number(p99)
	if !r.Safety(system.Name).Safe() {
		class = "bad"
	}
	if early > 0 {
		note += " - " + number(100*early/float64(r.Scale.Late)) + " % early"
	}
	y := rowTop(row) + 8
	s.label(row, system.Title, system.Name == "dueq")
	s.line(latenessX(p50), y, latenessX(p99), y, "stroke-"+class, 4)
	s.dot(latenessX(p50), y, class)
	s.text(barEnd+12, y+5, "", "start", note)
}
