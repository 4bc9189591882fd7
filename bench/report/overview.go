package report

import "github.com/dueq-dev/dueq/internal/measure"

// overview is the one table: complexity, safety, performance.
func (p *page) overview() {
	p.line("## The table")
	p.head(
		"queue", "lines of code", "lost: consumer killed", "lost or left: one of two killed", "lost: consumer away", "twice: two consumers", "early",
		"send /s", "catch up /s", "server CPU µs/message", "late ms, p50 / p99", "bytes/message", "idle commands/s",
	)
	for _, s := range p.Systems {
		p.row(
			s.title(), s.lines(),
			p.Faults(s.Name, "kill").cell(), p.Faults(s.Name, "survivor").cell(),
			p.Faults(s.Name, "away").cell(), p.Faults(s.Name, "two").repeats(), p.early(s.Name),
			p.median(s.Name, "send-128", "per_s"), p.median(s.Name, "drain", "per_s"), p.cpuCell(s),
			p.lateCell(s.Name), p.median(s.Name, "memory", "bytes"), p.median(s.Name, "idle", "sent_per_s"),
		)
	}
	p.line("")
	p.line("Lost, twice and early: of %s messages (early: of %s), the worst of all rounds. Send: from 128 goroutines",
		count(float64(p.Scale.Safety)), count(float64(p.Scale.Late)))
	p.line("(in Node.js, 128 calls at a time), one message a call. Catch up: %s due messages, no-op handler, concurrency 100.",
		count(float64(p.Scale.Drain)))
	p.line("Server CPU: to send and hand out one message, sent the cheapest way the queue offers. Late: %s messages, about", count(float64(p.Scale.Late)))
	p.line("%s/s. Bytes: of 100-byte bodies, %s pending; RabbitMQ: of Erlang; timing wheel: of the process.",
		number(float64(p.Scale.Late)/p.Scale.Spread.Seconds()), count(float64(p.Scale.Memory)))
	p.line("-: see the designs below for what a queue cannot do.")
	p.line("")
	p.image("peers-cost.svg", "CPU time of the server for one message")
	p.image("peers-memory.svg", "Bytes for one pending message")
}

func (s System) title() string {
	if s.Name == "dueq" {
		return "**" + s.Title + "**"
	}
	return s.Title
}

func (s System) lines() string {
	if s.Lines == 0 {
		return "-"
	}
	return count(float64(s.Lines))
}

func (p *page) median(system, workload, value string) string {
	s := p.Stat(system, workload, value)
	if s.Rounds == 0 {
		return "-"
	}
	return number(s.Median)
}

func (p *page) early(system string) string {
	f := p.Faults(system, "lateness")
	if !f.Measured {
		return "-"
	}
	if f.Early > 0 {
		return "**" + count(f.Early) + "**"
	}
	return "0"
}

func (p *page) lateCell(system string) string {
	return p.median(system, "lateness", "p50_ms") + " / " + p.median(system, "lateness", "p99_ms")
}

// cpuCell returns the server's CPU time for a message: to send it in the cheapest way, and to drain it.
func (p *page) cpuCell(s System) string {
	send, drain := p.serverCPU(s.Name)
	if s.Server == "none" || send.Rounds == 0 || drain.Rounds == 0 {
		return "-"
	}
	return number(send.Median + drain.Median)
}

func (r *Result) serverCPU(system string) (send, drain measure.Stat) {
	send = r.Stat(system, "send-128", "server_us")
	if batch := r.Stat(system, "send-batch", "server_us"); batch.Rounds > 0 && (send.Rounds == 0 || batch.Median < send.Median) {
		send = batch
	}
	return send, r.Stat(system, "drain", "server_us")
}
