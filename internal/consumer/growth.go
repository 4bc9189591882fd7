package consumer

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"time"

	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

const (
	// growthEvery is how often the consumer on duty looks whether the growth of its queue has ended.
	growthEvery = 5 * time.Second
	// growthPause is the pause between two steps of a pass.
	growthPause = 50 * time.Millisecond
	// growthCalls is the maximum number of calls of Names in a step.
	growthCalls = 10
	// growthPasses is how many passes must find no moved name. One is not enough: a message that dies
	// during a pass can be looked for as dead before it dies, and as live after it.
	growthPasses = 2
)

// growth ends the growth of a queue (store.Settings.From) when its old partitions have no message
// whose key or dedup id has moved to another partition. It looks through the names of all old
// partitions; when it finds one that has moved, it looks only at that one until it is gone, and then
// goes on. When passes from the first partition to the last have found none, only messages that are
// gone can be remembered under names that have moved: for store.MaxRemember at most.
type growth struct {
	config *Config
	duty   *duty // for the first partition

	partition int
	cursor    string
	found     bool // in this pass
	clean     int  // passes that found nothing, without one between that did
	witness   *witness
}

// witness is a message whose name has moved.
type witness struct {
	partition store.Partition
	ref       store.Ref
}

func newGrowth(c *Config, d *duty) *growth { return &growth{config: c, duty: d} }

// step looks at a bounded number of names, and returns how long to sleep until the next step.
func (g *growth) step(ctx context.Context) time.Duration {
	if g.duty.role(time.Now()) != onDuty {
		return spread(growthEvery)
	}
	wait, err := g.look(ctx)
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrConflict) {
		g.config.Log.DebugContext(ctx, "dueq: could not look whether the growth of a queue has ended; it is looked at again",
			slog.String("queue", g.config.Queue), slog.Any("error", err))
	}
	if err != nil {
		return spread(growthEvery)
	}
	return wait
}

func (g *growth) look(ctx context.Context) (time.Duration, error) {
	s, err := g.config.Store.Configure(ctx, g.config.Queue, store.Change{})
	switch {
	case err != nil:
		return 0, err
	case s.From == 0:
		return forever, nil
	case s.Partitions != g.config.Partitions: // another consumer succeeds this one
		return spread(growthEvery), nil
	case s.Drained != 0:
		return spread(growthEvery), g.end(ctx, &s)
	}
	if g.witness != nil {
		there, err := g.present(ctx, g.witness)
		if there || err != nil {
			return spread(growthEvery), err
		}
		g.witness = nil
	}
	for range growthCalls {
		over, err := g.advance(ctx, &s)
		switch {
		case err != nil:
			return 0, err
		case g.witness != nil:
			return spread(growthEvery), nil
		case over && g.clean >= growthPasses:
			return growthPause, g.drained(ctx, &s)
		}
	}
	return spread(growthPause), nil
}

// advance looks at the next names, and reports whether a pass is over.
func (g *growth) advance(ctx context.Context, s *store.Settings) (over bool, err error) {
	if g.partition == 0 && g.cursor == "" {
		if err := g.begin(ctx, s); err != nil {
			return false, err
		}
	}
	p := store.Partition{Queue: g.config.Queue, Index: g.partition}
	names, err := g.config.Store.Names(ctx, p, store.NamesRequest{Cursor: g.cursor, Limit: store.MaxListLimit})
	if err != nil {
		return false, err
	}
	if g.witness, err = g.moved(ctx, p, &names, s); err != nil {
		return false, err
	}
	g.found = g.found || g.witness != nil
	if g.cursor = names.Next; g.cursor != "" {
		return false, nil
	}
	if g.partition++; g.partition < s.From {
		return false, nil
	}
	g.partition = 0
	if g.clean++; g.found {
		g.clean, g.found = 0, false
	}
	return true, nil
}

// begin begins a pass. Every partition must know of the growth before it is looked at: one that does
// not can still store messages whose names have moved. A change that changes nothing gives all of them
// the settings.
func (g *growth) begin(ctx context.Context, s *store.Settings) error {
	none := int64(0)
	_, err := g.config.Store.Configure(ctx, g.config.Queue, store.Change{If: s.Version, Token: rand.Text(), Drained: &none})
	return err
}

// moved returns a message of the partition whose name has moved; nil: there is none among names.
func (g *growth) moved(ctx context.Context, p store.Partition, names *store.Names, s *store.Settings) (*witness, error) {
	for _, key := range names.Keys {
		if route.Moves(&store.Message{Key: key}, s.From, s.Partitions) {
			return &witness{p, store.Ref{Key: key}}, nil
		}
	}
	for _, named := range names.DedupIDs {
		if !route.Moves(&store.Message{DedupID: named.DedupID}, s.From, s.Partitions) {
			continue
		}
		w := &witness{p, store.Ref{ID: named.ID}}
		there, err := g.present(ctx, w)
		if there || err != nil {
			return w, err
		}
	}
	return nil, nil //nolint:nilnil // nil is none
}

// present reports whether a witness is still there, live or dead. Of a message with a key, its dedup id
// does not matter.
func (g *growth) present(ctx context.Context, w *witness) (bool, error) {
	r, err := g.config.Store.Get(ctx, w.partition, w.ref)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	}
	return r.State != store.Done && (w.ref.ID.IsZero() || r.Key == ""), nil
}

// drained notes that there are no moved names any more.
func (g *growth) drained(ctx context.Context, s *store.Settings) error {
	now, err := g.now(ctx)
	if err != nil {
		return err
	}
	_, err = g.config.Store.Configure(ctx, g.config.Queue, store.Change{If: s.Version, Token: rand.Text(), Drained: &now})
	return err
}

// end ends the growth if no message is remembered that was there when the partitions were drained.
func (g *growth) end(ctx context.Context, s *store.Settings) error {
	now, err := g.now(ctx)
	if err != nil {
		return err
	}
	if now < s.Drained+store.MaxRemember {
		stats, err := g.config.Store.Stats(ctx, g.config.Queue)
		if err != nil || len(stats) == 0 || stats[0].Remembered > 0 {
			return err
		}
	}
	none, never := 0, int64(0)
	_, err = g.config.Store.Configure(ctx, g.config.Queue, store.Change{If: s.Version, Token: rand.Text(), From: &none, Drained: &never})
	if err == nil {
		g.config.Log.InfoContext(ctx, "dueq: a queue has grown: its keys have moved to their partitions",
			slog.String("queue", g.config.Queue), slog.Int("partitions", s.Partitions))
	}
	return err
}

func (g *growth) now(ctx context.Context) (int64, error) {
	return g.config.Store.Now(ctx, store.Partition{Queue: g.config.Queue})
}
