package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/dueq-dev/dueq/store"
)

const (
	// deletingFor is how long pushes wait for a deletion whose end nobody has seen. Then it
	// counts as given up, and the queue goes on with what it has.
	deletingFor = 30 * time.Second
	// remainsTTL is how long the keys of a deleted queue keep its old settings from coming
	// back, and its last calls from being taken for new ones. It is longer than clients
	// remember settings that no server has.
	remainsTTL = time.Hour
	// undoTimeout bounds the attempt to let a queue go on that could not be deleted.
	undoTimeout = time.Second
)

var (
	// errDeleted is the error of a call on a queue that was there and is no more.
	errDeleted = fmt.Errorf("the queue was deleted: %w", store.ErrNotFound)
	// errDeleting is why a push waits.
	errDeleting = errors.New("the queue is being deleted")
	// errChanged: the settings were changed while the queue was being deleted.
	errChanged = errors.New("the settings have changed meanwhile")
)

// DeleteQueue implements store.Store. First all partitions get settings that keep pushes
// out, so that what is empty then stays empty. If one of them has messages and r.Force is not
// set, the settings are changed back. Else the partitions are removed, one after the other,
// and at last the queue's settings. It costs 2 calls for each partition, and 2 more when
// r.Force is not set.
func (s *Store) DeleteQueue(ctx context.Context, queue string, r store.DeleteRequest) error {
	if err := store.ValidateQueue(queue); err != nil {
		return err
	}
	for try := range reconciliations {
		err := s.deleteOnce(ctx, queue, r.Force)
		switch {
		case try > 0 && errors.Is(err, store.ErrNotFound):
			return nil // another call has finished what this one has begun
		case !errors.Is(err, errChanged):
			return err
		}
		if err := s.wait(ctx, try); err != nil {
			return fail("delete", queue, err)
		}
	}
	return fail("delete", queue, errUnsettled)
}

func (s *Store) deleteOnce(ctx context.Context, queue string, force bool) error {
	base, _, err := s.latest(ctx, "delete", queue)
	switch {
	case err != nil:
		return err
	case base.gone():
		s.forget(queue, base.Version)
		return errors.Join(fail("delete", queue, store.ErrNotFound), s.unlist(ctx, queue))
	case base.Version == 0:
		return fail("delete", queue, store.ErrNotFound)
	}
	d := &deletion{Store: s, queue: queue, force: force}
	if err := d.prepare(ctx, base); err != nil {
		return err
	}
	if d.settings, _, err = s.write(ctx, "delete", queue, base, 0, store.Change{}, optional(pointerTo(deletingFor.Milliseconds()))); err != nil {
		return err
	}
	if err := d.remove(ctx); err != nil {
		d.undo(ctx)
		return err
	}
	s.forget(queue, d.settings.Version+1)
	return s.unlist(ctx, queue)
}

// deletion is one try to delete a queue.
type deletion struct {
	*Store
	queue    string
	force    bool
	extent   int           // how many partitions there can be
	settings queueSettings // with which pushes are kept out
}

func pointerTo[T any](v T) *T { return &v }

func (d *deletion) partition(index int) store.Partition {
	return store.Partition{Queue: d.queue, Index: index}
}

// prepare finds all partitions, also those that were left over when the queue's data was
// lost and it was made again with fewer. It refuses a queue that has messages.
func (d *deletion) prepare(ctx context.Context, base queueSettings) error {
	copies, err := d.survey(ctx, "delete", d.queue, max(surveyed, base.Partitions))
	if err != nil {
		return err
	}
	d.extent = base.Partitions
	for i, c := range copies {
		if c.Version > 0 && !c.gone() {
			d.extent = max(d.extent, i+1)
		}
	}
	return d.wantEmpty(ctx)
}

// wantEmpty returns ErrNotEmpty if a partition has messages that must not be removed.
func (d *deletion) wantEmpty(ctx context.Context) error {
	if d.force {
		return nil
	}
	questions := make([]question, d.extent)
	for i := range questions {
		questions[i] = d.ofStats("delete", d.partition(i), counterFields())
	}
	answers, err := d.ask(ctx, questions)
	if err != nil {
		return err
	}
	st := store.Stats{Queue: d.queue}
	for _, answer := range answers {
		if _, _, err := addStats(&st, answer); err != nil {
			return err
		}
	}
	if n := st.Scheduled + st.Ready + st.Leased + st.Dead; n > 0 {
		return fail("delete", d.queue, fmt.Errorf("it has %d messages, %d of them dead: %w", n, st.Dead, store.ErrNotEmpty))
	}
	return nil
}

// remove keeps pushes out of all partitions, then removes them if they are empty or may be
// emptied, and then the queue.
func (d *deletion) remove(ctx context.Context) error {
	for i := range d.extent {
		found, err := d.configurePartition(ctx, "delete", d.partition(i), d.settings)
		if err != nil {
			return err
		}
		if found.Version > d.settings.Version {
			return errChanged
		}
	}
	if err := d.wantEmpty(ctx); err != nil {
		return err
	}
	version, ttl := strconv.FormatInt(d.settings.Version, 10), int(remainsTTL.Seconds())
	for i := range d.extent {
		p := d.partition(i)
		err := d.runRemoval(ctx, call{
			op: "delete", queue: d.queue, script: d.scripts["deletepartition"], keys: d.partitionKeys(p, allKeys),
			args: []any{d.eventsChannel(p), eventText(store.Event{Kind: store.EventReset, Partition: p.Index}), version, bit(d.force), ttl},
		})
		if err != nil {
			return err
		}
	}
	return d.runRemoval(ctx, call{
		op: "delete", queue: d.queue, script: d.scripts["deletequeue"], keys: []string{d.metaKey(d.queue)},
		args: []any{version, ttl},
	})
}

// runRemoval runs a script that removes something.
func (d *deletion) runRemoval(ctx context.Context, c call) error {
	got, err := d.run(ctx, c)
	if err != nil {
		return err
	}
	switch got {
	case int64(0):
		return nil
	case int64(1), int64(2): // somebody has let pushes in again
		return errChanged
	}
	return fail(c.op, c.queue, unexpected(got))
}

// undo lets a queue go on, with what it has. If the server does not answer, it does so
// after deletingFor.
func (d *deletion) undo(ctx context.Context) {
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer end()
	changed := store.Change{If: d.settings.Version, Token: "not-deleted"}
	settings, _, err := d.write(ctx, "delete", d.queue, d.settings, 0, changed, "0")
	if err == nil {
		_, err = d.spread(ctx, d.queue, settings)
	}
	if err != nil && !errors.Is(err, store.ErrConflict) {
		d.config.Logger.WarnContext(ctx, "dueq: a queue could not be deleted; sends to it can wait until that is noticed",
			slog.String("queue", d.queue), slog.Duration("most", deletingFor), slog.Any("error", err))
	}
}

// unlist takes a queue out of the set of queues.
func (s *Store) unlist(ctx context.Context, queue string) error {
	_, err := s.repeat(ctx, "delete", queue, func(int) (any, error) {
		return s.rdb.SRem(ctx, s.queuesKey(), queue).Result()
	})
	return err
}
