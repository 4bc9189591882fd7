package embedded

import (
	"container/list"
	"encoding/binary"
)

// summaryFrame bounds a frame of a summary; a caller's last call is at most 20 KiB.
const summaryFrame = 1 << 20

// summarize logs what a partition has besides messages: its counters and the last calls of
// its callers. After that, they are needed in no older frame.
func (p *partition) summarize() {
	j := p.journal
	j.begin()
	j.body = append(j.body, opTotals)
	for _, n := range p.counts {
		j.body = binary.AppendUvarint(j.body, uint64(n))
	}
	// The most silent caller first, so that reading them gives the same order again.
	p.summarizeAnswers(opPushed, p.producers)
	p.summarizeAnswers(opManaged, p.managers)
	for e := p.consumers.recent.Front(); e != nil; e = e.Next() {
		last := e.Value.(*call[[]handedOut]) //nolint:forcetypeassert // all are
		j.begin()
		j.body = appendClaimed(j.body, last.caller, last.number, last.used, p.stillHeld(last.answer))
		p.split()
	}
}

func (p *partition) summarizeAnswers(op byte, of calls[pushAnswer]) {
	for e := of.recent.Front(); e != nil; e = e.Next() {
		p.journal.begin()
		p.journal.body = appendAnswered(p.journal.body, op, e.Value.(*call[pushAnswer])) //nolint:forcetypeassert // all are
		p.split()
	}
}

// split ends a frame that has become large.
func (p *partition) split() {
	if len(p.journal.body) > summaryFrame {
		p.journal.commit()
	}
}

// stillHeld returns the remembered deliveries that still have their leases: a repeated claim
// returns only those.
func (p *partition) stillHeld(answer []handedOut) []handedOut {
	var held []handedOut
	for _, h := range answer {
		if p.held(h.receipt) != nil {
			held = append(held, h)
		}
	}
	return held
}

// summarySize returns how many bytes summarize appends, at most.
func (p *partition) summarySize() int {
	const totals, perResult, perDelivery = 1 + int(counters)*10, 1 + 16, 16 + 10 + 8
	callers := len(p.producers.byName) + len(p.managers.byName) + len(p.consumers.byName)
	size := frameSize + totals + callSize*callers
	for _, answered := range []*list.List{p.producers.recent, p.managers.recent} {
		for e := answered.Front(); e != nil; e = e.Next() {
			size += perResult * len(e.Value.(*call[pushAnswer]).answer.results) //nolint:forcetypeassert // all are
		}
	}
	for e := p.consumers.recent.Front(); e != nil; e = e.Next() {
		size += perDelivery * len(e.Value.(*call[[]handedOut]).answer) //nolint:forcetypeassert // all are
	}
	return size + size/summaryFrame*frameSize
}
