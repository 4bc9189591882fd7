package system

import (
	"context"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/bench/peer"
)

// Wheel is a hashed timing wheel in the memory of one process: a circle of slots, one for each tick. A
// message that is due after more than one round waits for several.
func Wheel() peer.Entry {
	return peer.Entry{
		Info: peer.Info{
			Name: "wheel", Title: "timing wheel in the process",
			Idea:     "A circle of slots in memory, one passed every 10 ms; whatever is in the slot and has no rounds left is due.",
			Promise:  "none: gone with the process",
			Mind:     "Nothing is stored: a crash or a deploy loses every pending message. One process only. Its figures are those of a program without a server, and show what a server costs.",
			Settings: "4,096 slots of 10 ms",
			Server:   peer.None, Batch: true, Listener: true, InProcess: true, Recovery: 5 * time.Second,
			Code: []string{"system/wheel.go"},
		},
		Open: func(context.Context, peer.Env) (peer.Queue, error) { return &wheel{start: time.Now()}, nil },
	}
}

const (
	wheelSlots = 4096
	wheelTick  = 10 * time.Millisecond
)

type wheel struct {
	start time.Time
	mu    sync.Mutex
	slots [wheelSlots][]wheelEntry
	tick  int64 // the next one to pass
	size  int
}

type wheelEntry struct {
	rounds int64
	body   []byte
}

func (q *wheel) Send(_ context.Context, m peer.Message) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(m)
	return nil
}

func (q *wheel) SendBatch(_ context.Context, batch []peer.Message) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range batch {
		q.add(m)
	}
	return nil
}

// add rounds up to a tick, so that nothing is early. The caller holds mu.
func (q *wheel) add(m peer.Message) {
	tick := max(int64((m.Due.Sub(q.start)+wheelTick-1)/wheelTick), q.tick)
	slot := &q.slots[tick%wheelSlots]
	*slot = append(*slot, wheelEntry{rounds: (tick - q.tick) / wheelSlots, body: m.Body})
	q.size++
}

func (q *wheel) Consume(ctx context.Context, c peer.Consumer, h peer.Handler) error {
	w := newWorkers(c.Concurrency)
	defer w.wait()
	c.Listening()
	for ctx.Err() == nil {
		for _, body := range q.pass(time.Now()) {
			w.do(func() { _ = h(ctx, body) })
		}
		pause(ctx, time.Until(q.start.Add(time.Duration(q.tick)*wheelTick)))
	}
	return nil
}

// pass takes the due messages from every slot whose tick has come.
func (q *wheel) pass(now time.Time) [][]byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	var due [][]byte
	for ; q.tick <= int64(now.Sub(q.start)/wheelTick); q.tick++ {
		slot := &q.slots[q.tick%wheelSlots]
		keep := (*slot)[:0]
		for _, e := range *slot {
			if e.rounds == 0 {
				due = append(due, e.body)
				continue
			}
			e.rounds--
			keep = append(keep, e)
		}
		clear((*slot)[len(keep):])
		*slot = keep
	}
	q.size -= len(due)
	return due
}

func (q *wheel) Size(context.Context) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.size, nil
}

func (q *wheel) Close() error { return nil }
