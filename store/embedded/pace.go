package embedded

import (
	"context"
	"time"

	"github.com/dueq-dev/dueq/store/embedded/internal/wal"
)

const (
	// paceLeast is how many bytes a merge writes for each byte that calls append, at least.
	// One would be enough if the oldest segments had all the garbage; garbage in later
	// segments has to wait until everything needed in front of it has been rewritten.
	paceLeast = 2
	// paceRise is added in proportion to the garbage above the limit: at twice the limit a
	// merge writes paceLeast+paceRise bytes for each byte. So garbage is bounded under any
	// load.
	paceRise = 4
	// paceStep is how many bytes a merge writes at a time.
	paceStep = 64 << 10
	// pacePause is how long a merge waits before it looks at the log again, and
	// pacePauses how often for a step: so it writes 1 MB/s at least. If nothing was appended
	// in all that time, there are no calls to wait for; less would be no proof, because
	// callers may all wait for the same sync.
	pacePause  = time.Millisecond
	pacePauses = 50
	// paceIdle is how many bytes may be appended in that time without being noticed: the
	// log and the end of a merge append some.
	paceIdle = 2 << 10
)

// pacer limits a merge to a few bytes for each byte that calls append, so that calls keep
// their share of disk and processor. A merge without concurrent calls, or when space is
// scarce, is not limited.
type pacer struct {
	care   *caretaker
	limit  int64        // bytes of garbage before merging begins
	seen   wal.Position // end of the log when it was last looked at
	own    int64        // bytes that the merge has written since
	credit int64        // bytes that it may write before it waits
	idle   bool         // there have been no calls for some time
	kept   time.Time    // when the reserve was last adjusted
}

func newPacer(c *caretaker, limit int64) *pacer {
	return &pacer{care: c, limit: limit, seen: c.log.End(), credit: paceStep, kept: time.Now()}
}

// wrote notes that the merge has written, and waits when that was more than its share.
func (p *pacer) wrote(ctx context.Context, bytes int) error {
	p.own += int64(bytes)
	if p.own < paceStep {
		return nil
	}
	if time.Since(p.kept) > tendEvery {
		if err := p.care.log.KeepReserve(); err != nil {
			return err
		}
		p.kept = time.Now()
	}
	called := int64(0)
	for range pacePauses {
		called += p.earn()
		p.idle = p.idle && called < paceIdle
		if p.idle || p.credit > 0 || p.care.log.Scarce() {
			return nil
		}
		if err := p.care.pause(ctx, pacePause); err != nil {
			return err
		}
	}
	p.idle = called < paceIdle
	p.credit = 0
	return nil
}

// earn turns what calls have appended into credit, and returns how many bytes that was.
func (p *pacer) earn() (others int64) {
	end := p.care.log.End()
	others = max(0, int64(end-p.seen)-p.own)
	p.credit = min(p.credit+others*p.perByte()-p.own, paceStep)
	p.seen, p.own = end, 0
	return others
}

// perByte returns how many bytes the merge may write for each byte that calls append.
func (p *pacer) perByte() int64 {
	excess := p.care.garbage() - p.limit
	return paceLeast + max(0, paceRise*excess/max(p.limit, 1))
}

// pauseFor waits, unless ctx ends first.
func pauseFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
