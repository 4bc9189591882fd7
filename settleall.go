package dueq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/internal/consumer"
	"github.com/dueq-dev/dueq/internal/receiver"
	"github.com/dueq-dev/dueq/store"
)

// AckAll acks deliveries, of one [Queue.Receive] or of several, in as few calls as it can:
// one for each 500 of a partition. It tries all of them and returns the errors of those
// that it could not ack, joined: each is an [*Error] with the message's id, as that of
// [Delivery.Ack].
func AckAll(ctx context.Context, deliveries []*Delivery) error {
	return settleAll(ctx, deliveries, store.Ack, 0, nil)
}

// NackAll nacks deliveries, as [AckAll] acks them, with the delay and reason of
// [Delivery.Nack].
func NackAll(ctx context.Context, deliveries []*Delivery, delay time.Duration, reason error) error {
	return settleAll(ctx, deliveries, store.Nack, delay, reason)
}

// settleAll settles what Receive has returned in calls of its own. What a consumer holds is
// left to the consumer, which joins what it is given at the same time.
func settleAll(ctx context.Context, deliveries []*Delivery, v store.Verdict, delay time.Duration, reason error) error {
	errs := make([]error, len(deliveries))
	shares := map[source][]int{}
	var settling sync.WaitGroup
	for i, d := range deliveries {
		if r, ok := d.holder.(*received); ok && delay >= 0 {
			from := source{r.receiver, r.partition}
			shares[from] = append(shares[from], i)
			continue
		}
		settling.Go(func() { errs[i] = d.settleAfter(ctx, v, delay, reason) })
	}
	how := store.Settlement{Delay: toSpan(delay)}
	if reason != nil {
		how.Failure = consumer.Cut(fmt.Sprint(reason))
	}
	for from, places := range shares {
		for chunk := range slices.Chunk(places, store.MaxBatch) {
			settling.Go(func() {
				for n, err := range from.settle(ctx, pick(deliveries, chunk), v, how) {
					errs[chunk[n]] = err
				}
			})
		}
	}
	settling.Wait()
	return errors.Join(errs...)
}

// source is where deliveries have been received from.
type source struct {
	receiver  *receiver.Receiver
	partition store.Partition
}

func pick(deliveries []*Delivery, places []int) []*Delivery {
	picked := make([]*Delivery, len(places))
	for n, i := range places {
		picked[n] = deliveries[i]
	}
	return picked
}

// settle settles deliveries in one call, and returns the error of each.
func (s source) settle(ctx context.Context, deliveries []*Delivery, v store.Verdict, how store.Settlement) []error {
	items := make([]receiver.Item, len(deliveries))
	for n, d := range deliveries {
		r := d.holder.(*received)
		items[n] = receiver.Item{Settlement: how, Part: r.part}
		items[n].Receipt = r.receipt
	}
	err := ctx.Err()
	var codes []store.Code
	if err == nil {
		codes, err = s.receiver.SettleAll(ctx, s.partition, v, items)
	}
	errs := make([]error, len(deliveries))
	for n, d := range deliveries {
		errs[n] = err
		if err == nil {
			errs[n] = consumer.CodeError(v, codes[n])
		}
		errs[n] = fail(string(v), d.Queue, d.ID, errs[n])
	}
	return errs
}
