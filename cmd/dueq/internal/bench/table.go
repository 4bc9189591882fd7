package bench

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

// Text returns the report as tables.
func (r *Report) Text() string {
	var b strings.Builder
	store := r.Store
	if r.Version != "" {
		store += ", " + r.Version
	}
	fmt.Fprintf(&b, "%s; %s\n%s\n\n", term.Escape(store), term.Escape(r.Machine), r.Setup.text())
	if rows := r.loads(); len(rows) > 0 {
		b.WriteString(term.Table([]string{"PER MESSAGE", "MESSAGES/S", "STORE CPU US", "CLIENT CPU US", "SENT", "EXECUTED", "BYTES IN", "BYTES OUT"}, rows))
		b.WriteString("\n")
	}
	b.WriteString(r.ratios())
	if l := r.Life; l != nil {
		fmt.Fprintf(&b, "send and drain  CPU us: store %s, client %s; floor %s\n", l.StoreCPU, l.ClientCPU, r.Floor.LifeStoreCPU)
	}
	b.WriteString(r.Drain.text("while draining") + r.Floor.Drain.text("  floor"))
	if m := r.Memory; m != nil {
		fmt.Fprintf(&b, "memory          %s bytes per message; floor %s, ratio %s\n", m.Bytes, r.Floor.Memory, r.Ratio.Memory)
	}
	if l := r.Lateness; l != nil {
		fmt.Fprintf(&b, "lateness        min %s ms, p50 %s, p99 %s, p99.9 %s, max %s; %d early, of %d at %d/s\n",
			l.Min, l.P50, l.P99, l.P999, l.Max, l.Early, l.Messages, l.Rate)
	}
	if i := r.Idle; i != nil {
		fmt.Fprintf(&b, "idle            %s commands/s sent, %s executed; CPU ms/s: store %s, client %s\n", i.Sent, i.Executed, i.StoreCPU, i.ClientCPU)
	}
	return b.String()
}

// text returns the effect on other clients as a line.
func (d *Drained) text(name string) string {
	if d == nil || !d.Ping.P50.known() {
		return ""
	}
	return fmt.Sprintf("%-15s PING p50 %s ms, p99 %s, max %s; %s calls in the SLOWLOG\n", name, d.Ping.P50, d.Ping.P99, d.Ping.Max, d.Slow)
}

func (s Setup) text() string {
	return fmt.Sprintf("%s of %d bytes, %s, backlog %d; median of %s",
		plural(s.Messages, "message"), s.Body, plural(s.Partitions, "partition"), s.Backlog, plural(s.Rounds, "round"))
}

// loads are the rows of the table.
func (r *Report) loads() [][]string {
	var rows [][]string
	add := func(name string, of, floor *Series) {
		rows = append(rows, of.row(name))
		if floor != nil && len(floor.Rounds) > 0 {
			rows = append(rows, floor.row("  floor"))
		}
	}
	if r.Send != nil {
		add(fmt.Sprintf("send, batches of %d", r.Setup.Batch), r.Send, r.Floor.Send)
	}
	for i := range r.Single {
		s := &r.Single[i]
		add("send, "+plural(s.Producers, "goroutine"), &s.Series, &s.floor)
	}
	if r.Drain != nil {
		var floor *Series
		if r.Floor.Drain != nil {
			floor = &r.Floor.Drain.Series
		}
		add("drain, "+plural(r.Setup.Concurrency, "handler"), &r.Drain.Series, floor)
	}
	return rows
}

func (s *Series) row(name string) []string {
	cells := []string{name}
	for i, figure := range s.figures() {
		if i == 0 {
			cells = append(cells, strconv.FormatFloat(float64(*figure), 'f', 0, 64))
			continue
		}
		cells = append(cells, figure.String())
	}
	return cells
}

func (r *Report) ratios() string {
	var b strings.Builder
	line := func(name string, ratio *Ratio) {
		if ratio != nil {
			fmt.Fprintf(&b, "%-15s %s x the floor's (%s to %s)\n", name, ratio.Median, ratio.Min, ratio.Max)
		}
	}
	line("store CPU send", r.Ratio.Send)
	line("store CPU drain", r.Ratio.Drain)
	line("store CPU both", r.Ratio.Life)
	for _, s := range r.Single {
		line("rate, "+plural(s.Producers, "call"), s.Ratio)
	}
	return b.String()
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
