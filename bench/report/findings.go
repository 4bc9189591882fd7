package report

import (
	"strings"

	"github.com/dueq-dev/dueq/bench/peer"
)

// findings describes the table in sentences that are made from the samples.
func (p *page) findings() {
	p.line("## What it shows")
	p.line("")
	p.list("Nothing lost, nothing early, and nothing twice while all consumers live", p.which(Safety.Safe))
	p.list("Lost messages when a consumer was killed or away", p.which(func(s Safety) bool { return s.Lost > 0 }))
	p.list("Left messages lying when one of two consumers was killed", p.which(func(s Safety) bool { return s.Stranded > 0 }))
	p.list("Handed out messages twice although no consumer had died", p.which(func(s Safety) bool { return s.Twice > 0 }))
	p.list("Handed out messages before they were due", p.which(func(s Safety) bool { return s.Early > 0 }))
	p.recovery()
	p.lead("drain", "catches up")
	p.lead("send-128", "takes messages from 128 senders")
	p.unfinished()
	p.line("")
}

func (p *page) list(what string, names []string) {
	if len(names) > 0 {
		p.line("- %s: %s.", what, strings.Join(names, "; "))
	}
}

func (p *page) which(is func(Safety) bool) []string {
	var names []string
	for _, s := range p.Systems {
		if p.Faults(s.Name, "kill").Measured && is(p.Safety(s.Name)) {
			names = append(names, s.Title)
		}
	}
	return names
}

// recovery returns how long the messages of a killed consumer were not delivered.
func (p *page) recovery() {
	var parts []string
	for _, s := range p.Systems {
		if back := p.Stat(s.Name, "kill", "recovery_s"); back.Rounds > 0 && p.Faults(s.Name, "kill").Lost == 0 {
			parts = append(parts, s.Title+" "+number(back.Median)+" s")
		}
	}
	p.list("Until the last message of a killed consumer had been done by another", parts)
}

// lead compares the rate of dueq with the best of the other queues that have a server and keep their
// promises, also when dueq is slower.
func (p *page) lead(workload, verb string) {
	const value = "per_s"
	own := p.Stat("dueq", workload, value)
	best, name := 0.0, ""
	for _, s := range p.Systems {
		if s.Name == "dueq" || s.Server == peer.None || !p.Faults(s.Name, "kill").Measured || !p.Safety(s.Name).Safe() {
			continue
		}
		if v := p.Stat(s.Name, workload, value).Median; v > best {
			best, name = v, s.Title
		}
	}
	if own.Rounds > 0 && best > 0 {
		p.line("- dueq %s at %s times the rate of the fastest other queue in the first list (%s).",
			verb, number(own.Median/best), name)
	}
}

// unfinished lists what could not be measured.
func (p *page) unfinished() {
	for _, s := range p.Samples {
		if s.Error != "" {
			text, _, _ := strings.Cut(s.Error, "\n")
			p.line("- Not measured: %s, %s, round %d: %s.", s.System, s.Workload, s.Round, text)
		}
	}
}
