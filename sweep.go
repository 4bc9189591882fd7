package dueq

import (
	"context"
	"errors"
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
		results, err := q.client.store.Redrive(ctx, p, chunk)
		if err != nil {
			return total, errors.Join(append(refused, err)...)
		}
		for i, r := range results {
			if r.Code == store.CodeOK {
				total++
				continue
			}
			refused = append(refused, q.refusal("redrive", chunk[i], r))
		}
	}
	return total, errors.Join(refused...)
}

// refusal tells why the store refused one message; with ErrDuplicate its ID is that
// of the message that has the key.
func (q *Queue) refusal(op string, id store.ID, r store.PushResult) error {
	if !r.Holder.IsZero() {
		id = r.Holder
	}
	return fail(op, q.name, id.String(), codeError(r.Code))
}

func (q *Queue) purge(ctx context.Context, state State, ids []string) (int, error) {
	r := store.PurgeRequest{State: state, Limit: store.MaxBatch}
	if err := r.Validate(); err != nil {
		return 0, err
	}
	if len(ids) == 0 {
		return q.purgeAll(ctx, r)
	}
	sorted, err := parseIDs(ids)
	if err != nil {
		return 0, err
	}
	total := 0
	for index, ids := range sorted {
		for chunk := range slices.Chunk(ids, store.MaxBatch) {
			r.IDs = chunk
			n, err := q.client.store.Purge(ctx, q.partition(index), r)
			total += n
			if err != nil {
				return total, err
			}
		}
	}
	return total, nil
}

func (q *Queue) purgeAll(ctx context.Context, r store.PurgeRequest) (int, error) {
	s, err := q.read(ctx)
	if err != nil {
		return 0, err
	}
	total := 0
	for index := range s.Partitions {
		for {
			n, err := q.client.store.Purge(ctx, q.partition(index), r)
			total += n
			if err != nil {
				return total, err
			}
			if n < r.Limit {
				break
			}
		}
	}
	return total, nil
}
