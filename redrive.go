package dueq

import (
	"context"
	"errors"
	"slices"

	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

// redriveItems redrives dead messages of a partition. While the queue grows, those whose keys belong
// to another partition by now are moved there.
func (q *Queue) redriveItems(ctx context.Context, p store.Partition, items []store.Redrive) ([]store.PushResult, error) {
	results, err := q.redriveIn(ctx, p, items, 0)
	if err != nil || !slices.ContainsFunc(results, func(r store.PushResult) bool { return r.Code == store.CodeMoved }) {
		return results, err
	}
	settings, err := q.read(ctx)
	if err != nil {
		return nil, err
	}
	var staying []store.Redrive
	var at []int
	for i := range results {
		if results[i].Code != store.CodeMoved {
			continue
		}
		r, err := q.client.store.Get(ctx, p, store.Ref{ID: items[i].ID})
		switch {
		case errors.Is(err, ErrNotFound) || err == nil && r.State != store.Dead:
			results[i].Code = store.CodeNotFound
		case err == nil && route.ByKey(r.Key, settings.Partitions) == p.Index:
			staying, at = append(staying, items[i]), append(at, i)
		case err == nil:
			results[i], err = q.redriveTo(ctx, p, &r, items[i].Delay, settings.Partitions)
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
	}
	if len(staying) > 0 {
		redriven, err := q.redriveIn(ctx, p, staying, settings.Partitions)
		if err != nil {
			return nil, err
		}
		for i, r := range redriven {
			results[at[i]] = r
		}
	}
	return results, nil
}

// redriveIn redrives dead messages where they are. of is the number of partitions by which those with
// keys belong there, 0 if that is not known.
func (q *Queue) redriveIn(ctx context.Context, p store.Partition, items []store.Redrive, of int) ([]store.PushResult, error) {
	return numbered(q.client, func(caller string, number uint64) ([]store.PushResult, error) {
		return q.client.store.Redrive(ctx, p, store.RedriveRequest{Caller: caller, Number: number, Items: items, Of: of})
	})
}

// redriveTo stores a dead message in the partition to which its key belongs, then removes it. The new
// message has an id with all of the old one but the partition: when the process ends between the two
// steps, and the message is redriven again, it is not stored twice for as long as it is there, and for
// nextFor after it is gone.
func (q *Queue) redriveTo(ctx context.Context, from store.Partition, r *store.Record, delay int64, of int) (store.PushResult, error) {
	home := route.ByKey(r.Key, of)
	m := store.Message{
		ID: route.InPartition(r.ID, home), Key: r.Key, Headers: r.Headers, Body: r.Body, Delay: delay,
		MaxAttempts: r.MaxAttempts, Repeat: r.Repeat, Remember: nextFor.Milliseconds(), Of: of,
	}
	stored, err := q.client.producer.Push(ctx, q.partition(home), []store.Message{m})
	if err != nil || stored[0].Code != store.CodeOK {
		return first(stored), err
	}
	_, err = numbered(q.client, func(caller string, number uint64) ([]store.Code, error) {
		refs := []store.Ref{{ID: r.ID}}
		return q.client.store.Cancel(ctx, from, store.CancelRequest{Caller: caller, Number: number, Refs: refs, Dead: true})
	})
	return stored[0], err
}

func first(results []store.PushResult) (r store.PushResult) {
	if len(results) > 0 {
		r = results[0]
	}
	return r
}
