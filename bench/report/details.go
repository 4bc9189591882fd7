package report

import (
	"maps"
	"slices"
	"strings"
)

// designs describes each queue.
func (p *page) designs() {
	p.line("## The designs")
	p.line("")
	for _, s := range p.Systems {
		p.line("**%s.** %s Promise: %s. %s", s.Title, s.Idea, s.Promise, s.Mind)
		p.line("Settings: %s.%s", s.Settings, codeOfDesign(s))
		p.line("")
	}
}

func codeOfDesign(s System) string {
	if len(s.Code) == 0 {
		return ""
	}
	var links []string
	for _, f := range s.Code {
		links = append(links, "[`bench/"+f+"`](../bench/"+f+")")
	}
	return " Code: " + strings.Join(links, ", ") + "."
}

// detail is one table of all figures of some workloads.
type detail struct {
	title  string
	column []string // workload, value and heading, by threes
}

func tables() []detail {
	return []detail{
		{"Send, messages per second", []string{
			"send-1", "per_s", "1 goroutine", "send-16", "per_s", "16", "send-128", "per_s", "128", "send-batch", "per_s", "batches of 100",
		}},
		{"Send, server CPU µs per message", []string{
			"send-1", "server_us", "1 goroutine", "send-16", "server_us", "16", "send-128", "server_us", "128", "send-batch", "server_us", "batches of 100",
		}},
		{"Send, client CPU µs per message", []string{
			"send-1", "client_us", "1 goroutine", "send-16", "client_us", "16", "send-128", "client_us", "128", "send-batch", "client_us", "batches of 100",
		}},
		{"Catch up", []string{
			"drain", "per_s", "messages/s", "drain", "server_us", "server CPU µs/message", "drain", "client_us", "client CPU µs/message",
		}},
		{"Lateness, ms", []string{
			"lateness", "min_ms", "min", "lateness", "p50_ms", "p50", "lateness", "p99_ms", "p99", "lateness", "max_ms", "max", "lateness", "early", "early",
		}},
		{"Memory", []string{"memory", "bytes", "bytes/message"}},
		{"Idle consumer, per second", []string{
			"idle", "sent_per_s", "commands sent", "idle", "executed_per_s", "executed, scripts included",
			"idle", "server_ms_per_s", "server CPU ms", "idle", "client_ms_per_s", "client CPU ms",
		}},
		{"Consumer killed half way", []string{
			"kill", "lost", "lost", "kill", "twice", "twice", "kill", "early", "early", "kill", "recovery_s", "all back after s",
		}},
		{"One of two consumers killed half way, the other goes on", []string{
			"survivor", "lost", "lost", "survivor", "twice", "twice", "survivor", "early", "early", "survivor", "recovery_s", "all back after s",
		}},
		{"Consumer away", []string{
			"away", "lost", "lost", "away", "twice", "twice", "away", "early", "early", "away", "recovery_s", "all there after s",
		}},
		{"Two consumers", []string{
			"two", "lost", "lost", "two", "twice", "twice", "two", "early", "early",
		}},
	}
}

// details shows every figure with its spread.
func (p *page) details() {
	p.line("## Every figure")
	p.line("")
	p.line("Median (min - max) of the rounds.")
	for _, d := range tables() {
		p.line("")
		p.line("### %s", d.title)
		p.detail(d)
	}
	p.line("")
}

func (p *page) detail(d detail) {
	heading := []string{"queue"}
	for c := range slices.Chunk(d.column, 3) {
		heading = append(heading, c[2])
	}
	p.head(heading...)
	for _, s := range p.Systems {
		cells := []string{s.title()}
		for c := range slices.Chunk(d.column, 3) {
			cells = append(cells, p.spread(s.Name, c[0], c[1]))
		}
		p.row(cells...)
	}
}

func (p *page) spread(system, workload, value string) string {
	s := p.Stat(system, workload, value)
	switch {
	case s.Rounds == 0:
		return p.why(system, workload)
	case s.Rounds == 1 || s.Min == s.Max:
		return number(s.Median)
	}
	return number(s.Median) + " (" + number(s.Min) + " - " + number(s.Max) + ")"
}

func (p *page) why(system, workload string) string {
	excuse, err := p.gap(system, workload)
	switch {
	case excuse != "":
		return excuse
	case err != "":
		return "failed"
	}
	return "-"
}

func (p *page) method() {
	p.line("## How it was measured")
	p.line("")
	m := p.Machine
	p.line("`%s` on %s: %d cores of %s, %s of memory, %s.", p.Command, p.Date.Format("2006-01-02"), m.Cores, m.CPU, m.Memory, m.System)
	p.line("")
	p.line("Redis without persistence on a unix socket, RabbitMQ on loopback; each queue starts from an empty server.")
	p.line("Senders and consumers are processes of their own, driven over pipes, so CPU time is each one's own and a kill is")
	p.line("SIGKILL. The queues take turns within a workload, and another one begins in each round. CPU of Redis is what INFO")
	p.line("reports, of RabbitMQ what the kernel reports in steps of 10 ms. A message is done when its handler has said so, before")
	p.line("the ack. Due times and handler starts are read from the one clock of the machine. A queue that keeps nothing for an")
	p.line("absent consumer (key expiry, timing wheel) catches up on messages that fall due all at once while it is there.")
	p.line("[bench/README.md](../bench/README.md) says how to repeat it.")
	p.line("")
	p.line("Versions: %s.", p.versions())
}

func (p *page) versions() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p.Versions)) {
		if v := p.Versions[name]; v != "" {
			parts = append(parts, name+" "+v)
		}
	}
	return strings.Join(parts, ", ")
}
