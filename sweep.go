package dueq

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dueq-dev/dueq/store"
)

// redrive and purge: many messages, in calls of at most store.MaxBatch.

func (q *Queue) redrive(ctx context.Context, ids []string) (int, error) {
	if len(ids) == 0 {
		return q.redriveAll(ctx)
	}
	sorted, err := parseIDs(ids)
	if err != nil {
		return 0, err
	}
	total, refused := 0, []error(nil)
	for index, ids := range sorted {
		n, err := q.redrivePartition(ctx, q.partition(index), ids)
		total += n
		refused = append(refused, err)
	}
	return total, errors.Join(refused...)
}

func (q *Queue) redriveAll(ctx context.Context) (int, error) {
	s, err := q.read(ctx)
	if err != nil {
		return 0, err
	}
	stats, err := q.client.store.Stats(ctx, q.name)
	if err != nil {
		return 0, err
	}
	total, refused := 0, []error(nil)
	for index := range s.Partitions {
		n, err := q.redriveDead(ctx, q.partition(index), stats[0].Dead)
		total += n
		refused = append(refused, err)
	}
	return total, errors.Join(refused...)
}

// redriveDead walks over the dead messages of a partition. It looks at no more than
// most: some could die again and be found at the end of the list for ever.
func (q *Queue) redriveDead(ctx context.Context, p store.Partition, most int64) (int, error) {
	total, refused, cursor := 0, []error(nil), ""
	for seen := int64(0); seen < most; {
		page, err := q.client.store.List(ctx, p, store.ListRequest{State: Dead, Cursor: cursor, Limit: store.MaxBatch})
		if err != nil {
			return total, errors.Join(append(refused, err)...)
		}
		ids := make([]store.ID, len(page.Records))
		for i := range page.Records {
			ids[i] = page.Records[i].ID
		}
		n, err := q.redrivePartition(ctx, p, ids)
		total += n
		refused = append(refused, err)
		seen += int64(len(ids))
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	return total, errors.Join(refused...)
}

func (q *Queue) redrivePartition(ctx context.Context, p store.Partition, ids []store.ID) (int, error) {
	total, refused := 0, []error(nil)
	for chunk := range slices.Chunk(ids, store.MaxBatch) {
		results, err := numbered(q.client, func(caller string, number uint64) ([]store.PushResult, error) {
			return q.client.store.Redrive(ctx, p, store.RedriveRequest{Caller: caller, Number: number, Items: redrives(chunk)})
		})
		if err != nil {
			return total, errors.Join(append(refused, err)...)
		}
		for i, r := range results {
			if r.Code == store.CodeOK {
				total++
				continue
			}
			refused = append(refused, q.refusal("redrive", chunk[i].String(), r))
		}
	}
	return total, errors.Join(refused...)
}

func redrives(ids []store.ID) []store.Redrive {
	items := make([]store.Redrive, len(ids))
	for i, id := range ids {
		items[i].ID = id
	}
	return items
}

// refusal says why the store refused one message.
func (q *Queue) refusal(op, id string, r store.PushResult) error {
	err := codeError(r.Code)
	if !r.Holder.IsZero() {
		holder := r.Holder.String()
		err = &Error{Field: "key", Holder: holder, Err: fmt.Errorf("belongs to message %s: %w", holder, ErrDuplicate)}
	}
	return fail(op, q.name, id, err)
}

func (q *Queue) purge(ctx context.Context, state State, ids []string) (int, error) {
	request := store.PurgeRequest{Caller: "any", State: state, All: true, Limit: store.MaxBatch}
	if err := request.Validate(); err != nil { // before there is anything to ask the store for
		return 0, err
	}
	if len(ids) == 0 {
		return q.purgeAll(ctx, state)
	}
	sorted, err := parseIDs(ids)
	if err != nil {
		return 0, err
	}
	total := 0
	for index, ids := range sorted {
		for chunk := range slices.Chunk(ids, store.MaxBatch) {
			n, err := q.purgeSome(ctx, q.partition(index), store.PurgeRequest{State: state, IDs: chunk})
			total += n
			if err != nil {
				return total, err
			}
		}
	}
	return total, nil
}

func (q *Queue) purgeAll(ctx context.Context, state State) (int, error) {
	s, err := q.read(ctx)
	if err != nil {
		return 0, err
	}
	total := 0
	for index := range s.Partitions {
		for {
			n, err := q.purgeSome(ctx, q.partition(index), store.PurgeRequest{State: state, All: true})
			total += n
			if err != nil {
				return total, err
			}
			if n < store.MaxBatch {
				break
			}
		}
	}
	return total, nil
}

// purgeSome removes up to store.MaxBatch messages.
func (q *Queue) purgeSome(ctx context.Context, p store.Partition, r store.PurgeRequest) (int, error) {
	r.Limit = store.MaxBatch
	result, err := numbered(q.client, func(caller string, number uint64) (store.PurgeResult, error) {
		r.Caller, r.Number = caller, number
		return q.client.store.Purge(ctx, p, r)
	})
	return result.Removed, err
}
