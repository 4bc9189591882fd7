package embedded

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/dueq-dev/dueq/internal/failurelog"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/wal"
)

const (
	// Bytes of garbage at which merging begins, if they are also more than the bytes that are
	// needed. Lower values cost writes, higher values cost disk space.
	garbageBusy = 64 << 20
	garbageIdle = 512 << 10
	// garbageOpen is that limit when a store is opened: short processes read the garbage each
	// time. openMergeMost bounds the bytes of the segments that are merged then.
	garbageOpen   = 1 << 20
	openMergeMost = 16 << 20
	// garbageScarce is that limit when space on the disk is scarce.
	garbageScarce = 16 << 10
	// mergeStep is how many bytes a merge rewrites before it waits until they are on disk.
	mergeStep = 1 << 20

	tendEvery = time.Second
	// tendLeast is the time between rounds when space is scarce.
	tendLeast = 20 * time.Millisecond

	// The reserve lets messages be claimed and settled on a full disk: this many bytes
	// for each, within limits, and the failure texts of one call.
	reservePerMessage = 128
	reserveLeast      = 256 << 10
	reserveMost       = 256 << 20
)

// caretaker keeps the log small, in the one goroutine of a durable store. It always
// merges the oldest segment: it rewrites what is still needed of the segment at the end of
// the log, then drops the segment. So the log needs no records of messages that are gone:
// when the frame that removes a message is dropped, the frame that put it there has been
// dropped before.
type caretaker struct {
	store  *Store
	log    *wal.Log
	logger *slog.Logger

	pause   func(ctx context.Context, d time.Duration) error
	lastEnd wal.Position // of the log after the last round: unchanged means idle
}

// run does a round every second until ctx ends, and as soon as space becomes scarce.
func (c *caretaker) run(ctx context.Context) {
	ticker := time.NewTicker(tendEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-c.log.Low():
		}
		err := c.round(ctx)
		if errors.Is(err, wal.ErrStopped) {
			return // which has been logged
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, wal.ErrFull) {
			c.logger.Warn("the space of the log could not be looked after", slog.Any("error", err))
		}
		select { // refused calls may ask for rounds faster than these can help
		case <-ctx.Done():
			return
		case <-time.After(tendLeast):
		}
	}
}

// round looks after the space on the disk once.
func (c *caretaker) round(ctx context.Context) error {
	idle := c.log.End() == c.lastEnd
	if !idle {
		c.measure()
		if err := c.log.CheckFiles(); err != nil {
			return err
		}
	}
	err := c.mergeDownTo(ctx, c.limit(idle), math.MaxInt64)
	c.lastEnd = c.log.End()
	return errors.Join(err, c.log.KeepReserve())
}

// limit returns how many bytes of garbage the log may have before it is merged.
func (c *caretaker) limit(idle bool) int64 {
	needed := c.store.live.all()
	switch {
	case c.log.Starved():
		return garbageScarce
	case c.log.Scarce():
		return max(garbageScarce, needed/8)
	case idle:
		return max(garbageIdle, needed)
	}
	return max(garbageBusy, needed)
}

// measure updates how many bytes of the log are needed besides messages.
func (c *caretaker) measure() {
	var size int
	for _, p := range c.store.allPartitions() {
		p.mu.Lock()
		size += p.summarySize() + rememberSize*p.memory.gone.len()
		p.mu.Unlock()
	}
	c.store.live.besides.Store(int64(size + settingsSize*c.store.queueCount()))
}

// needs returns the bytes that the log must reserve for the time when the disk is full.
func (s *Store) needs() wal.Needs {
	messages := s.live.messages.Load() + s.live.coming.Load()
	texts := min(messages, store.MaxBatch) * store.MaxFailure
	return wal.Needs{
		Drain: min(reserveLeast+texts+messages*reservePerMessage, reserveMost),
		Merge: s.live.bytes.Load(), Always: s.live.besides.Load(),
	}
}

// mergeDownTo merges until there is little garbage, or everything that was there in the
// beginning has been merged, or most bytes have.
func (c *caretaker) mergeDownTo(ctx context.Context, limit, most int64) error {
	_, last := c.log.Ends()
	pace := newPacer(c, limit)
	for began := c.log.Dropped(); c.garbage() > limit && c.log.Dropped()-began < most; {
		oldest, active := c.log.Ends()
		if oldest > last {
			return nil
		}
		if oldest == active {
			if err := c.log.Roll(); err != nil {
				return err
			}
		}
		if err := c.mergePaced(ctx, oldest, pace); err != nil {
			return err
		}
	}
	return nil
}

// garbage returns how many bytes of the log are not needed, about.
func (c *caretaker) garbage() int64 { return c.log.Size() - c.store.live.all() }

// merge rewrites what is needed of the oldest segment, and drops the segment. It can be
// interrupted at any point: then some messages are in the log twice, with the same content.
func (c *caretaker) merge(ctx context.Context, oldest uint32) error {
	return c.mergePaced(ctx, oldest, nil)
}

// mergePaced is merge at the pace of calls; nil: as fast as possible.
func (c *caretaker) mergePaced(ctx context.Context, oldest uint32, pace *pacer) error {
	m := merging{caretaker: c, ctx: ctx, pace: pace, scarce: c.log.Scarce()}
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
	return c.log.Drop(ctx)
}

// merging is the state of one merge.
type merging struct {
	*caretaker
	ctx     context.Context //nolint:containedctx // lives as long as one call
	pace    *pacer
	scarce  bool     // space was, when it began
	unsaved int      // bytes rewritten that may not be on disk yet
	changes []change // of the step being read
}

// rewrite rewrites the messages of a frame that the log has nowhere else, and those that
// the frame records as gone and that are still remembered.
func (m *merging) rewrite(spot wal.Spot, body []byte) error {
	p, puts, err := m.puts(spot, body)
	if err != nil || len(puts) == 0 {
		return err
	}
	return m.write(p, rewriting{
		size: func() int { return p.putsSize(puts, m.scarce) },
		do:   func() { p.putAgain(puts, m.scarce) },
	})
}

// putsSize returns how many bytes putAgain writes, at most.
func (p *partition) putsSize(puts []change, scarce bool) int {
	size := 0
	for _, c := range puts {
		if p.recalls(&c) {
			size += rememberSize
		} else if e := p.stands(&c); e != nil {
			size += messageSize + len(c.whole) + textSize(e, scarce)
		}
	}
	return size
}

func textSize(e *entry, scarce bool) int {
	if scarce {
		return failurelog.MaxHead + scarceText
	}
	return len(e.past().texts)
}

// putAgain rewrites the messages whose only record in the log is that of the frame. When
// space is scarce, their failure texts are cut.
func (p *partition) putAgain(puts []change, scarce bool) {
	for _, c := range puts {
		if p.recalls(&c) {
			p.journal.remembered(c.id, c.at, c.dedup)
		} else if e := p.stands(&c); e != nil {
			if scarce {
				p.shorten(e)
			}
			rewrite(p.journal, e, e.state, c.whole)
		}
	}
}

// puts returns the messages that a frame puts into a partition, and those that it says are
// remembered: none if the queue was deleted, or if the frame made no sense and was skipped
// when the store was repaired.
func (m *merging) puts(spot wal.Spot, body []byte) (*partition, []change, error) {
	if err := m.ctx.Err(); err != nil {
		return nil, nil, err
	}
	f, err := readFrame(body, spot)
	if err == nil && f.kind == frameStep {
		m.changes, err = f.steps(m.changes[:0])
	}
	if errors.Is(err, errFrame) {
		return nil, nil, nil
	}
	if err != nil || f.kind != frameStep {
		return nil, nil, err
	}
	p := m.store.partition(f.partition)
	if p == nil {
		return nil, nil, nil
	}
	return p, slices.DeleteFunc(m.changes, func(c change) bool { return c.op != opPut && c.op != opRemember }), nil
}

// stands returns the message that a change put into the log if it is still there, and
// has not been written down again since.
func (p *partition) stands(put *change) *entry {
	if put.op != opPut {
		return nil
	}
	for _, of := range []*index{&p.byID, &p.done.byID} {
		if e := of.get(put.id); e != nil && e.stored == put.entry.stored {
			return e
		}
	}
	return nil
}

// recalls reports whether a change says of a message that it is remembered, and it still is.
// Where a merge was cut short, it may be in the log twice.
func (p *partition) recalls(c *change) bool {
	if c.op != opRemember {
		return false
	}
	e := p.memory.gone.get(c.id)
	return e != nil && e.at == c.at
}

// summarize logs what a partition has besides messages, unless a later segment has that
// already.
func (m *merging) summarize(p *partition, oldest uint32) error {
	if p.journal.home > oldest { // only the caretaker uses it
		return nil
	}
	_, active := m.log.Ends()
	if err := m.write(p, rewriting{size: p.summarySize, do: p.summarize}); err != nil {
		return err
	}
	p.journal.home = active
	return nil
}

// settings logs the settings of all queues, unless a later segment has them already.
func (m *merging) settings(oldest uint32) error {
	names, err := m.store.known("")
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := m.log.Admit(settingsSize, wal.Merge); err != nil {
			return err
		}
		m.store.repeatSettings(name, oldest)
		m.log.Release(settingsSize)
	}
	return nil
}

// rewriting is a step of a merge on one partition. Its functions are called under the
// partition's mutex.
type rewriting struct {
	size func() int // bytes that do appends now, at most; 0: nothing
	do   func()
}

// write runs one step of a merge. After every mergeStep bytes it waits for the disk, so
// that the writes of a merge do not pile up in front of those of calls.
func (m *merging) write(p *partition, r rewriting) error {
	p.mu.Lock()
	size := r.size()
	p.mu.Unlock()
	for size > 0 {
		admitted := size + frameSize
		if err := m.log.Admit(admitted, wal.Merge); err != nil {
			return err
		}
		wrote, missing := p.rewrite(r, size)
		m.log.Release(admitted)
		if missing == 0 {
			return m.saved(wrote)
		}
		size = missing
	}
	return nil
}

// rewrite runs a step if it needs no more than was admitted; else it returns what it needs.
func (p *partition) rewrite(r rewriting, admitted int) (wrote, missing int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if size := r.size(); size > admitted {
		return 0, size
	}
	r.do()
	wrote = wal.FrameSize(len(p.journal.body))
	p.journal.commit()
	return wrote, 0
}

// saved counts bytes that were written, waits as the pace demands, and waits for the disk
// after every mergeStep bytes.
func (m *merging) saved(wrote int) error {
	if m.pace != nil {
		if err := m.pace.wrote(m.ctx, wrote); err != nil {
			return err
		}
	}
	if m.unsaved += wrote; m.unsaved < mergeStep {
		return nil
	}
	m.unsaved = 0
	return m.log.Synced(m.ctx, m.log.End())
}

// begin merges a little when a store was opened, because a process may end before the first
// round. A store that was repaired is rewritten at once, so that it can be opened without
// repair the next time.
func (c *caretaker) begin(ctx context.Context) error {
	c.measure()
	if err := c.log.KeepReserve(); err != nil {
		return err
	}
	if len(c.store.damage) == 0 {
		err := c.mergeDownTo(ctx, max(garbageOpen, c.store.live.all()), openMergeMost)
		if errors.Is(err, wal.ErrFull) {
			return nil // the caretaker will try again
		}
		return err
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
	}
}
