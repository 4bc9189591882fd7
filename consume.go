package dueq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dueq-dev/dueq/internal/consumer"
	"github.com/dueq-dev/dueq/store"
)

// ConsumeOptions are the options of [Queue.Consume]. The zero value suits most programs.
type ConsumeOptions struct {
	// Concurrency is how many handlers run at a time: 1 to 10,000. Default 10. If handlers
	// compute rather than wait, more of them than there are processors do not raise the
	// throughput, and leases can be extended late, because each handler then delays others by 10
	// ms. That has no effect while Concurrency times 10 ms, divided by the processors, is below a
	// tenth of Lease; otherwise fewer handlers run at a time while the processor is overloaded.
	Concurrency int
	// Lease is how long a message is held at a time, 1 s to 12 h. It is extended for as long as
	// the handler runs, so it need not be longer than a slow handler takes. It is how long
	// messages wait when this process dies. Default Settings.Lease, 30 s unless it is set.
	Lease time.Duration
	// Prefetch is how many messages may be held in addition to those that handlers work on: 1 to
	// 10,000. If handlers are slow, far fewer are held: only those whose handlers can start
	// within about 100 ms. A message that has waited for a handler for about 1 s is released.
	// Default 500.
	Prefetch int
	// PrefetchBytes is the approximate limit of their bodies, keys and headers together: 1 byte
	// to 1 GiB. The reply of one claim of each partition, about 1 MiB, can exceed it. Default 16
	// MiB.
	PrefetchBytes int
	// NoPrefetch: a message is claimed only when a handler is free for it. Each message then
	// costs a claim, and a round trip before it starts. Prefetch must be 0.
	NoPrefetch bool
	// Timeout ends the context of a handler that runs for longer, and the extension of its lease.
	// Default 0: none.
	Timeout time.Duration
	// Grace is how long handlers, and calls to the store, may continue after ctx has ended.
	// Default 10 s.
	Grace time.Duration
	// MaxHold ends the extension of leases of messages that are held for longer, in case handlers
	// hang. Default 0: none.
	MaxHold time.Duration
	// Backoff returns the delay after a failure: d is the delivery that has failed (d.Failures
	// does not count this failure), err is the error that the handler returned, or describes its
	// panic. The methods of d that settle return ErrInvalid here. A negative delay means 0, one
	// above 10 years means 10 years. It must be safe for concurrent use. It is not called if err
	// chooses the verdict or the delay ([RetryAfter], [Reject], [Drop] and so on). Default
	// Settings.Backoff at that time, which is [DefaultBackoff] unless it is set; [Backoff] makes
	// an exponential one.
	Backoff func(d *Delivery, err error) time.Duration
	// AtMostOnce acks messages when they are handed out, before handlers get them. No message is
	// delivered twice, but one is lost when its handler fails, when its process dies, or when the
	// reply to its claim is lost: 183 of 10,000 in a test that lost 2 % of the replies. There are
	// no retries and no prefetching, and Lease, MaxHold and Backoff are ignored. For a message
	// with Repeat, the next occurrence is scheduled before the handler gets this one.
	AtMostOnce bool
	// Middleware wraps the handler; the first is the outermost.
	Middleware []Middleware
	// Partitions pins the consumer to some partitions, by index: it claims from these only, for
	// example to run beside the server that has them. Those that the queue does not have are left
	// out; if it has none of them, Consume returns ErrInvalid, and a Worker does not consume that
	// queue, logs it, and tries again after a minute. Pinned consumers share no duties: each looks at its partitions as often as if it were
	// the only consumer. See that every partition has a consumer. Default: all, shared with the
	// other consumers.
	Partitions []int
	// Name of the consumer in logs and in the store, where Record.Holder has it with a suffix
	// that makes it unique: 1 to 32 of A-Z a-z 0-9 . _ -. Default Options.Name.
	Name string
}

// Consume calls h with the queue's messages as they become due, until ctx ends. It blocks. Any
// number of consumers, in any number of processes, share a queue.
//
// When ctx ends, no more messages are claimed, those that wait for a handler are released at
// once, and running handlers have c.Grace to finish. Then their contexts end, and messages that
// they do not finish are released. These messages lose no attempt. Consume returns nil when all
// handlers and calls have ended, or an error with the number of handlers that ignored the end of
// their context for 5 s and still run.
//
// When the queue gets more partitions, handlers run on, and messages of all partitions are handled with
// the handlers that are left of c.Concurrency.
//
// While the store cannot be reached, Consume logs that once, retries, and continues when it is
// reachable again. Other errors: [ErrInvalid] for h or c; [ErrClosed] when the client is closed,
// which stops the consumer in the same way.
//
// A message whose handler is known to have run when its process ended (see [Message].MaxAttempts)
// may end the process again. All consumers of a client together run one handler of such messages
// at a time; after 10 s the next may start. Handlers of other messages run at the same time.
//
// The cost does not grow with the number of consumers. For each partition one consumer of the queue
// is on duty and claims what becomes due; another is on standby, in case that the first hangs, which
// delays messages by less than 2 s; and if the one on duty has no free handler, others are called.
// An idle partition costs a call every 10 s of the consumer on duty, one of the standby, and one of
// all others together. A client costs one call every 5 s, for all its consumers.
func (q *Queue) Consume(ctx context.Context, h Handler, c ConsumeOptions) error {
	if err := q.guard(ctx); err != nil {
		return fail("consume", q.name, "", err)
	}
	c, err := c.complete()
	if err == nil && h == nil {
		err = invalid("handler", "is nil")
	}
	if err != nil {
		return fail("consume", q.name, "", err)
	}
	return q.runConsumer(ctx, c, q.handler(c.wrap(h)))
}

// wrap returns h with the middleware around it.
func (c ConsumeOptions) wrap(h Handler) Handler {
	for _, wrap := range slices.Backward(c.Middleware) {
		h = wrap(h)
	}
	return h
}

// handler returns a function that sets the handler of a consumer to h.
func (q *Queue) handler(h Handler) func(*consumer.Config) {
	return func(config *consumer.Config) {
		config.Handle = func(ctx context.Context, held *consumer.Held) error {
			d := newDelivery(q, held)
			d.early = config.AtMostOnce
			q.client.hooks.delivering(held)
			return d.admit(ctx, h(ctx, d))
		}
	}
}

// runConsumer runs a consumer until ctx ends or the client is closed. handle sets its handler.
func (q *Queue) runConsumer(ctx context.Context, c ConsumeOptions, handle func(*consumer.Config)) error {
	ctx, leave, err := q.client.enter(ctx)
	if err != nil {
		return fail("consume", q.name, "", err)
	}
	defer leave()
	err = q.consume(ctx, &c, q.learn, handle)
	if err == nil && q.client.open.Err() != nil {
		err = ErrClosed
	}
	return fail("consume", q.name, "", err)
}

// consume runs a consumer of the queue's partitions. When their number has changed, because the queue
// grows or its data was lost, another succeeds it while its handlers finish. learn returns the queue's
// settings.
func (q *Queue) consume(ctx context.Context, c *ConsumeOptions, learn func(context.Context) (store.Settings, error), handle func(*consumer.Config)) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	var last *consumer.Consumer
	var before finishing
	for {
		began, succeeds := time.Now(), last != nil // a use of last below would keep it in memory
		next, err := q.newConsumer(ctx, c, last, learn, handle)
		if next != nil {
			err = next.Run(ctx)
		}
		if next == nil || !errors.Is(err, store.ErrRepartitioned) {
			end() // the others have Grace, too
			return before.join(err)
		}
		q.warnRepartitioned(ctx, err)
		before.add(next)
		if succeeds && time.Since(began) < succeedEvery { // the partitions disagree
			select {
			case <-time.After(succeedEvery):
			case <-ctx.Done():
			}
		}
		last = next
	}
}

// succeedEvery is the least time between consumers of a queue whose partitions disagree about their
// number.
const succeedEvery = time.Second

// finishing are consumers that others have succeeded and whose handlers still run.
type finishing struct {
	running sync.WaitGroup
	mu      sync.Mutex
	failed  error
}

func (f *finishing) add(c *consumer.Consumer) {
	f.running.Go(func() {
		err := c.Finish()
		f.mu.Lock()
		defer f.mu.Unlock()
		f.failed = errors.Join(f.failed, err)
	})
}

// join waits for all, and returns err with theirs.
func (f *finishing) join(err error) error {
	f.running.Wait()
	if f.failed == nil {
		return err
	}
	return errors.Join(err, f.failed)
}

// newConsumer returns a consumer with the settings of the queue, nil if ctx has ended or after an
// error. It is not a part of consume, because the frame of that stays on the stack for as long as the
// consumer runs.
func (q *Queue) newConsumer(ctx context.Context, c *ConsumeOptions, before *consumer.Consumer, learn func(context.Context) (store.Settings, error), handle func(*consumer.Config)) (*consumer.Consumer, error) {
	settings, err := consumer.Insist(ctx, q.client.log, learn)
	if err != nil || ctx.Err() != nil {
		return nil, err
	}
	config := q.consumerConfig(settings, *c)
	if config.Pinned, err = pinned(c.Partitions, settings.Partitions); err != nil {
		return nil, err
	}
	config.Before = before
	handle(&config)
	return consumer.New(&config), nil
}

// pinned returns those of a consumer's partitions that a queue of n partitions has; nil: it has all.
func pinned(partitions []int, n int) ([]int, error) {
	if len(partitions) == 0 {
		return nil, nil
	}
	all := slices.DeleteFunc(slices.Sorted(slices.Values(partitions)), func(p int) bool { return p >= n })
	if len(all) == 0 {
		return nil, outside("partitions", fmt.Sprint(partitions), "0 to %d: the queue has none of them", n-1)
	}
	return slices.Compact(all), nil
}

func (q *Queue) warnRepartitioned(ctx context.Context, err error) {
	q.client.log.WarnContext(ctx, "dueq: the queue has another number of partitions; another consumer succeeds this one",
		slog.String("queue", q.name), slog.Any("error", err))
}

// consumerConfig returns the options, completed from the queue's settings.
func (q *Queue) consumerConfig(settings store.Settings, c ConsumeOptions) consumer.Config {
	backoff := c.Backoff
	if backoff == nil {
		backoff = q.backoff
	}
	return consumer.Config{
		Store: q.client.store, Queue: q.name, Partitions: settings.Partitions, From: settings.From,
		Name: uniqueNameOf(cmp.Or(c.Name, q.client.name)), Roster: q.client.roster, Isolation: &q.client.isolated, Log: q.client.log,
		Observe: q.client.hooks.observer(),
		Backoff: func(held *consumer.Held, err error) time.Duration {
			d := newDelivery(q, held)
			d.shown = true
			return backoff(d, err)
		},
		Concurrency: c.Concurrency, Prefetch: c.Prefetch, PrefetchBytes: c.PrefetchBytes,
		Lease: leaseOr(c.Lease, settings), Timeout: c.Timeout, Grace: c.Grace, MaxHold: c.MaxHold, AtMostOnce: c.AtMostOnce,
	}
}

// Defaults and limits of a ConsumeOptions.
const (
	defaultConcurrency = 10
	maxConcurrency     = 10_000
	defaultPrefetch    = 500
	maxPrefetch        = 10_000
	defaultPrefetched  = 16 << 20 // bytes
	maxPrefetched      = 1 << 30
	defaultGrace       = 10 * time.Second
)

// complete returns c with its defaults, or what is wrong with it.
func (c ConsumeOptions) complete() (ConsumeOptions, error) {
	for _, span := range []struct {
		field string
		value time.Duration
	}{{"timeout", c.Timeout}, {"grace", c.Grace}, {"max hold", c.MaxHold}} {
		if span.value < 0 {
			return c, negative(span.field, span.value)
		}
	}
	c.Concurrency = cmp.Or(c.Concurrency, defaultConcurrency)
	if c.NoPrefetch && c.Prefetch != 0 {
		return c, invalid("prefetch", "%d together with NoPrefetch", c.Prefetch)
	}
	if !c.NoPrefetch {
		c.Prefetch = cmp.Or(c.Prefetch, defaultPrefetch)
	}
	c.PrefetchBytes = cmp.Or(c.PrefetchBytes, defaultPrefetched)
	c.Grace = cmp.Or(c.Grace, defaultGrace)
	return c, c.check()
}

func (c ConsumeOptions) check() error {
	switch {
	case c.Concurrency < 1 || c.Concurrency > maxConcurrency:
		return outside("concurrency", c.Concurrency, "1 to %d", maxConcurrency)
	case c.Prefetch < 0 || c.Prefetch > maxPrefetch:
		return outside("prefetch", c.Prefetch, "1 to %d", maxPrefetch)
	case c.PrefetchBytes < 1 || c.PrefetchBytes > maxPrefetched:
		return outside("prefetch bytes", c.PrefetchBytes, "1 to %d", maxPrefetched)
	case slices.ContainsFunc(c.Middleware, func(m Middleware) bool { return m == nil }):
		return invalid("middleware", "one is nil")
	}
	for _, p := range c.Partitions {
		if p < 0 || p >= store.MaxPartitions {
			return outside("partitions", p, "0 to %d", store.MaxPartitions-1)
		}
	}
	if err := checkName(c.Name); err != nil {
		return err
	}
	return checkLease(cmp.Or(c.Lease, defaultLease))
}

// BatchHandler handles several messages in one call, for example with one INSERT for all. Its
// result settles each delivery of the batch as [Handler]'s result does: nil acks them.
// [Delivery.Fail] gives one of them another result. [Next] sends its messages once for each
// delivery whose result it is, with shared calls. A panic is a failure of all deliveries.
//
// ctx ends when the work on all deliveries of the batch has ended, for the causes listed at
// Handler. A lost lease or a cancelled message does not end the work on the others.
type BatchHandler func(ctx context.Context, batch []*Delivery) error

// BatchOptions are the options of [Queue.ConsumeBatch]. The zero value suits most programs.
type BatchOptions struct {
	// Max is the maximum number of messages in a call of the handler: 1 to 10,000. Default 100.
	Max int
	// Linger is how long the first message of a batch may wait for others, if there are fewer
	// than Max: up to 1 minute. Default 0: no wait.
	Linger time.Duration
	// ConsumeOptions are the other options. Concurrency is how many batches are handled at a
	// time, by default 1; at most 100,000 messages in all. Prefetch is by default 500, or Max if
	// that is more. Middleware must be empty.
	ConsumeOptions
}

const (
	defaultBatch       = 100
	defaultBatchesOnce = 1
	maxBatch           = 10_000
	maxLinger          = time.Minute
	maxTogether        = 100_000 // deliveries that handlers of a consumer work on
)

// ConsumeBatch is [Queue.Consume] for a handler that takes several messages at a time: up to
// c.Max that are due or become due within c.Linger, of any partition. Leases are extended, and
// the consumer stops, as with Consume. A message whose handler is known to have run when its
// process ended is handled in a batch with no other.
//
// Errors are those of Consume.
func (q *Queue) ConsumeBatch(ctx context.Context, h BatchHandler, c BatchOptions) error {
	if err := q.guard(ctx); err != nil {
		return fail("consume", q.name, "", err)
	}
	c, err := c.complete()
	if err == nil && h == nil {
		err = invalid("handler", "is nil")
	}
	if err != nil {
		return fail("consume", q.name, "", err)
	}
	return q.runConsumer(ctx, c.ConsumeOptions, func(config *consumer.Config) {
		config.Batch, config.Linger = c.Max, c.Linger
		config.HandleBatch = func(ctx context.Context, all []*consumer.Held) []error {
			return q.handleBatch(ctx, h, all, c.AtMostOnce)
		}
	})
}

// complete returns c with its defaults, or what is wrong with it.
func (c BatchOptions) complete() (BatchOptions, error) {
	c.Max = cmp.Or(c.Max, defaultBatch)
	c.Concurrency = cmp.Or(c.Concurrency, defaultBatchesOnce)
	switch {
	case c.Max < 1 || c.Max > maxBatch:
		return c, outside("max", c.Max, "1 to %d", maxBatch)
	case c.Linger < 0 || c.Linger > maxLinger:
		return c, outside("linger", c.Linger, "0s to %s", maxLinger)
	case len(c.Middleware) > 0:
		return c, invalid("middleware", "%d for handlers of one message, want none", len(c.Middleware))
	case c.Concurrency > maxTogether/c.Max:
		return c, invalid("concurrency", "%d batches of %d messages, want at most %d messages in all", c.Concurrency, c.Max, maxTogether)
	}
	if !c.NoPrefetch && c.Prefetch == 0 {
		c.Prefetch = max(defaultPrefetch, c.Max)
	}
	var err error
	c.ConsumeOptions, err = c.ConsumeOptions.complete()
	return c, err
}

// handleBatch calls h, and returns the result of each delivery. If early is set, they are acked
// already.
func (q *Queue) handleBatch(ctx context.Context, h BatchHandler, all []*consumer.Held, early bool) []error {
	own, deliveries := make([]ownResult, len(all)), make([]Delivery, len(all))
	batch := make([]*Delivery, len(all))
	ids := joinIDs(all)
	length := len(ids) / len(all)
	for i, held := range all {
		deliveries[i].fill(q, ids[i*length:(i+1)*length], held)
		q.client.hooks.delivering(held)
		deliveries[i].early, deliveries[i].result = early, &own[i]
		batch[i] = &deliveries[i]
	}
	err := h(ctx, batch)
	results := make([]error, len(all))
	for i := range own {
		results[i] = own[i].or(err)
	}
	admitAll(ctx, batch, results)
	return results
}

// joinIDs returns the concatenated ids of deliveries, so that a batch needs one allocation for
// them.
func joinIDs(all []*consumer.Held) string {
	var text strings.Builder
	var id []byte
	for i, held := range all {
		id = held.Delivery.Receipt.ID.AppendTo(id[:0])
		if i == 0 {
			text.Grow(len(all) * len(id))
		}
		text.Write(id)
	}
	return text.String()
}

// admitAll replaces verdicts by the results of admit. It sends the messages of all of them with
// shared calls.
func admitAll(ctx context.Context, batch []*Delivery, verdicts []error) {
	var n nexts
	var indexes []int
	for i, d := range batch {
		if messages := messagesOf(verdicts[i]); messages != nil {
			n.add(ctx, d, messages)
			indexes = append(indexes, i)
		} else {
			verdicts[i] = d.admit(ctx, verdicts[i])
		}
	}
	for i, verdict := range n.send(ctx) {
		verdicts[indexes[i]] = verdict
	}
}

// ownResult is the result that Fail has set for a delivery of a batch; nil: none.
type ownResult struct{ atomic.Pointer[error] }

// or returns the result of r, or that of the batch if r has none.
func (r *ownResult) or(whole error) error {
	if own := r.Load(); own != nil {
		return *own
	}
	return whole
}

// Fail sets the result of one delivery of a batch, as if a handler had returned err for it alone:
// nil acks it, an error nacks it, [RetryAfter], [Snooze], [Again], [Next], [Reject] and [Drop]
// choose otherwise. It is applied when the handler of the batch has returned; the last call
// counts. Fail is for handlers of [Queue.ConsumeBatch] and panics elsewhere.
func (d *Delivery) Fail(err error) {
	if d.result == nil {
		panic(fmt.Sprintf("dueq: Fail of delivery %s, which is not of a batch", d.ID))
	}
	d.result.Store(&err)
}
