package embedded

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/dueq-dev/dueq/store/embedded/internal/wal"
)

const (
	// Garbage that is put up with, as long as it is not more than what is needed:
	// merging less often costs disk, more often costs writes.
	garbageBusy = 64 << 20
	garbageIdle = 512 << 10
	// mergeStep bounds the bytes written down again before they must be on disk.
	mergeStep = 1 << 20
	// mergeFullMost bounds what may be written down again on a full disk, to get back
	// a whole segment: settles need what space there is.
	mergeFullMost = 64 << 10

	tendEvery = time.Second

	// The reserve lets messages be claimed and settled on a full disk: so many bytes
	// for each, within limits.
	reservePerMessage = 128
	reserveLeast      = 256 << 10
	reserveMost       = 256 << 20
)

// caretaker keeps the log small, in the one goroutine of a durable store. It always
// merges the oldest segment: it writes down again, at the end of the log, what is
// still needed of it, and drops it. So nothing ever has to be known about messages
// that are gone: when the frame that removes a message is dropped, the one that put
// it there has been dropped before.
type caretaker struct {
	store  *Store
	log    *wal.Log
	logger *slog.Logger

	lastEnd wal.Position // of the log after the last round: unchanged means idle
	rest    int64        // bytes that count as garbage, but are all needed
}

// run does a round every second until ctx ends.
func (c *caretaker) run(ctx context.Context) {
	ticker := time.NewTicker(tendEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := c.round(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, wal.ErrFull) {
			c.logger.Warn("the space of the log could not be looked after", slog.Any("error", err))
		}
	}
}

// round looks after the space on the disk once.
func (c *caretaker) round(ctx context.Context) error {
	if err := c.log.KeepReserve(c.reserve()); err != nil {
		return err
	}
	limit := int64(garbageBusy)
	if c.log.End() == c.lastEnd || c.log.Full() {
		limit = garbageIdle
	}
	err := c.mergeDownTo(ctx, limit)
	c.lastEnd = c.log.End()
	return err
}

func (c *caretaker) reserve() int64 {
	return min(max(c.store.live.messages.Load()*reservePerMessage, reserveLeast), reserveMost)
}

// mergeDownTo merges until there is little garbage, or nothing is left that was there
// in the beginning.
func (c *caretaker) mergeDownTo(ctx context.Context, limit int64) error {
	_, last := c.log.Ends()
	for c.garbage()-c.rest > max(limit, c.store.live.bytes.Load()) {
		oldest, active := c.log.Ends()
		if oldest > last {
			c.rest = c.garbage()
			return nil
		}
		if oldest == active {
			if err := c.log.Roll(); err != nil {
				return err
			}
		}
		if err := c.merge(ctx, oldest); err != nil {
			return err
		}
		if now, _ := c.log.Ends(); now == oldest {
			return nil // not worth it
		}
	}
	return nil
}

// garbage returns how many bytes of the log are not needed, about.
func (c *caretaker) garbage() int64 { return c.log.Size() - c.store.live.bytes.Load() }

// merge writes down again what is needed of the oldest segment, and drops it. It can
// be cut short at any point: what then is in the log twice is the same.
func (c *caretaker) merge(ctx context.Context, oldest uint32) error {
	m := merging{caretaker: c, ctx: ctx, use: wal.Add}
	if c.log.Full() {
		if needed, err := m.needed(); err != nil || needed > mergeFullMost {
			return err
		}
		m.use = wal.Drain
	}
	if err := c.log.Scan(m.rewrite); err != nil {
		return err
	}
	for _, p := range c.store.allPartitions() {
		if err := m.summarize(p, oldest); err != nil {
			return err
		}
	}
	if err := m.settings(oldest); err != nil {
		return err
	}
	if err := c.log.Synced(ctx, c.log.End()); err != nil {
		return err
	}
	return c.log.Drop()
}

// merging is one merge under way.
type merging struct {
	*caretaker
	ctx     context.Context //nolint:containedctx // lives as long as one call
	use     wal.Use
	unsaved int // bytes written down again that may not be on disk yet
}

// needed returns how many bytes of the oldest segment are needed.
func (m *merging) needed() (int, error) {
	needed := 0
	err := m.log.Scan(func(spot wal.Spot, body []byte) error {
		p, puts, err := m.puts(spot, body)
		if err == nil && p != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			for _, c := range puts {
				if p.stands(&c) != nil {
					needed += len(c.whole) + putOverhead
				}
			}
		}
		return err
	})
	return needed, err
}

// rewrite writes down again those messages of a frame that are still where it put them.
func (m *merging) rewrite(spot wal.Spot, body []byte) error {
	p, puts, err := m.puts(spot, body)
	if err != nil || len(puts) == 0 {
		return err
	}
	return m.write(p, len(body), func() {
		for _, c := range puts {
			if e := p.stands(&c); e != nil {
				p.journal.rewrite(e, e.state, payload(c.whole))
			}
		}
	})
}

// puts returns the messages that a frame puts into a partition.
func (m *merging) puts(spot wal.Spot, body []byte) (*partition, []change, error) {
	if err := m.ctx.Err(); err != nil {
		return nil, nil, err
	}
	f, err := readFrame(body, spot)
	if err != nil || f.kind != frameStep {
		return nil, nil, err
	}
	var puts []change
	for c, more := f.next(); more; c, more = f.next() {
		if c.op == opPut {
			puts = append(puts, c)
		}
	}
	return m.store.partition(f.partition), puts, f.err
}

// stands returns the message that a change put into the log if it is still there, and
// has not been written down again since.
func (p *partition) stands(put *change) *entry {
	if e := p.byID.get(put.id); e != nil && e.stored == put.entry.stored {
		return e
	}
	return nil
}

// summarize writes down what a partition knows besides its messages, unless that was
// done in a segment that stays.
func (m *merging) summarize(p *partition, oldest uint32) error {
	p.mu.Lock()
	size := p.summarySize()
	p.mu.Unlock()
	if p.journal.home > oldest { // nobody but the caretaker uses it
		return nil
	}
	_, active := m.log.Ends()
	err := m.write(p, size, p.summarize)
	p.journal.home = active
	return err
}

// settings writes down the settings of all queues, likewise.
func (m *merging) settings(oldest uint32) error {
	names, err := m.store.known("")
	if err != nil {
		return err
	}
	for _, name := range names {
		const size = 256 // the longest name and four numbers
		if err := m.log.Admit(size, m.use); err != nil {
			return err
		}
		m.store.repeatSettings(name, oldest)
		m.log.Release(size)
	}
	return nil
}

// write runs one step that writes about so many bytes. Now and then it waits for the
// disk, so that a merge never gets far ahead of it and others get their turn.
func (m *merging) write(p *partition, size int, do func()) error {
	if err := m.log.Admit(size, m.use); err != nil {
		return err
	}
	defer m.log.Release(size)
	end := p.rewriting(do)
	if m.unsaved += size; m.unsaved < mergeStep {
		return nil
	}
	m.unsaved = 0
	return m.log.Synced(m.ctx, end)
}

func (p *partition) rewriting(do func()) wal.Position {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
	end, _ := p.journal.commit()
	return end
}

// begin prepares a store that was just opened. One that was repaired is written down
// anew at once, so that it opens without repair the next time.
func (c *caretaker) begin(ctx context.Context) error {
	if err := c.log.KeepReserve(c.reserve()); err != nil {
		return err
	}
	if len(c.store.damage) == 0 {
		return nil
	}
	if err := c.log.Roll(); err != nil {
		return err
	}
	for _, last := c.log.Ends(); ; {
		oldest, _ := c.log.Ends()
		if oldest == last {
			return nil
		}
		if err := c.merge(ctx, oldest); err != nil {
			return err
		}
		if now, _ := c.log.Ends(); now == oldest {
			return wal.ErrFull
		}
	}
}
