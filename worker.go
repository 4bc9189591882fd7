package dueq

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/internal/consumer"
	"github.com/dueq-dev/dueq/store"
)

// WorkerOptions are the options of [NewWorker]. The zero value suits most programs. They apply to
// all queues of the worker; fields that are not described here are as in [ConsumeOptions], for
// each queue.
type WorkerOptions struct {
	// Concurrency is how many handlers run at a time, of all queues together: 1 to 10,000.
	// Default 10. See [ConsumeOptions].Concurrency about handlers that compute.
	Concurrency   int
	Lease         time.Duration
	Prefetch      int
	PrefetchBytes int
	NoPrefetch    bool
	Timeout       time.Duration
	Grace         time.Duration
	MaxHold       time.Duration
	Backoff       func(d *Delivery, err error) time.Duration
	AtMostOnce    bool
	Middleware    []Middleware
	Partitions    []int
	Name          string
}

// HandleOptions are the options of [Worker.Handle]. If the pattern matches several queues, they
// apply to each of them.
type HandleOptions struct {
	// Weight is the queue's share of the handlers while there are more messages due than
	// handlers, in proportion to the weights of the other queues that have messages due: 1
	// to 1,000. Default 1.
	Weight int
	// Concurrency is the maximum number of handlers of the queue that run at a time: 1 to 10,000.
	// Default WorkerOptions.Concurrency.
	Concurrency int
}

const (
	maxWeight = 1000
	// listQueuesEvery is how often a worker looks for queues.
	listQueuesEvery = 5 * time.Second
	// consumeAgainAfter is how long a worker waits before it retries to consume a queue.
	consumeAgainAfter = time.Minute
	// startWithin is how long a worker waits until a consumer has the settings of its queue, before it
	// starts the next one. Starting many at a time would open many connections, which a client of
	// Redis then keeps.
	startWithin = 20 * time.Millisecond
)

// Worker consumes many queues with handlers that share one limit of concurrency. Make one with
// [NewWorker], register handlers with [Worker.Handle], then call [Worker.Run].
//
// Any queue can use a free handler. While more messages are due than there are handlers, each
// queue gets its share of them, in proportion to its weight, measured by the time that its
// handlers take: with the weights 6, 3 and 1, three busy queues get 60 %, 30 % and 10 % of that
// time. A queue with a low weight is then slower but never stops, and its slow handlers do not
// displace those of other queues. A handler that hangs uses up its queue's share: set
// WorkerOptions.Timeout.
//
// All methods are safe for concurrent use.
type Worker struct {
	client  *Client
	options ConsumeOptions

	mu      sync.Mutex
	routes  []*workerRoute
	began   bool
	stopped bool
	stop    context.CancelFunc // set when Run has begun
}

// workerRoute is what a worker does with the queues that a pattern matches.
type workerRoute struct {
	pattern string
	glob    *regexp.Regexp // nil: the pattern is the name of a queue
	handler Handler        // with its middleware
	weight  int
	most    int
}

// NewWorker returns a worker for queues of c. Errors: [ErrInvalid] for o, or if c is nil.
func NewWorker(c *Client, o WorkerOptions) (*Worker, error) {
	options, err := ConsumeOptions(o).complete()
	if err == nil && c == nil {
		err = invalid("client", "is nil")
	}
	if err != nil {
		return nil, fail("make a worker", "", "", err)
	}
	return &Worker{client: c, options: options}, nil
}

// Handle registers h for the messages of the queue with a name, or of all queues whose names
// match a glob. In a glob, * matches any text, ? one character, [a-z] one of a set, [^a-z] one
// that is not in it, and \ makes the next character an ordinary one, as in [Filter]. If a queue
// matches several patterns, the one that is its name is used, otherwise the first that was
// registered.
//
// It must be called before Run. Errors: [ErrInvalid] for a pattern that is neither a name nor a
// glob, or is already registered, for h, for o, and after the call of Run.
func (w *Worker) Handle(pattern string, h Handler, o HandleOptions) error {
	route, err := w.route(pattern, h, o)
	if err == nil {
		err = w.register(route)
	}
	return fail("handle", "", "", err)
}

func (w *Worker) route(pattern string, h Handler, o HandleOptions) (*workerRoute, error) {
	r := &workerRoute{
		pattern: pattern, weight: cmp.Or(o.Weight, 1),
		most: min(cmp.Or(o.Concurrency, maxConcurrency), w.options.Concurrency),
	}
	switch {
	case h == nil:
		return nil, invalid("handler", "is nil")
	case r.weight < 1 || r.weight > maxWeight:
		return nil, outside("weight", o.Weight, "1 to %d", maxWeight)
	case o.Concurrency < 0 || o.Concurrency > maxConcurrency:
		return nil, outside("concurrency", o.Concurrency, "1 to %d", maxConcurrency)
	}
	r.handler = w.options.wrap(h)
	if !strings.ContainsAny(pattern, `*?[\`) {
		return r, store.ValidateQueue(pattern)
	}
	var err error
	r.glob, err = globPattern("queue", pattern)
	return r, err
}

func (w *Worker) register(route *workerRoute) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began {
		return unfit("queue", route.pattern, " is registered after the call of Run")
	}
	for _, other := range w.routes {
		if other.pattern == route.pattern {
			return unfit("queue", route.pattern, " is registered already")
		}
	}
	w.routes = append(w.routes, route)
	return nil
}

// Handler returns the handler for a queue's messages, with the worker's Middleware around it; nil
// if no pattern matches.
func (w *Worker) Handler(queue string) Handler {
	w.mu.Lock()
	defer w.mu.Unlock()
	if route := w.match(queue); route != nil {
		return route.handler
	}
	return nil
}

// match returns the route of a queue; nil if no pattern matches.
func (w *Worker) match(queue string) *workerRoute {
	var first *workerRoute
	for _, r := range w.routes {
		if r.glob == nil && r.pattern == queue {
			return r
		}
		if first == nil && r.glob != nil && r.glob.MatchString(queue) {
			first = r
		}
	}
	return first
}

// Run calls the handlers of the worker's queues with messages as they become due, until ctx ends
// or [Worker.Stop] is called. It blocks, and stops as [Queue.Consume] does: handlers that run
// have WorkerOptions.Grace to finish. It can be called once.
//
// Queues that were registered by name are made if they are missing. Queues that match a glob are
// consumed at most 5 s after they were made. When a queue is deleted, its consumer ends; if it is
// made again, it is consumed again.
//
// An error that affects one queue is logged and does not end the others: the queue is retried
// after a minute. Errors: [ErrInvalid] when Run was called before or no handler is registered;
// [ErrClosed] when the client is closed, and after Stop; [ErrFailed]; an error with the number of
// handlers of a queue that ignored the end of their context and still run.
//
// Each queue costs what a Consume costs (see [Queue.Consume]); with Redis, all share one connection
// for hints, except on a Cluster, where each has its own. The search for queues is one call every 5 s, however many there are.
func (w *Worker) Run(ctx context.Context) error {
	ctx, end, err := w.begin(ctx)
	if err != nil {
		return fail("work", "", "", err)
	}
	defer end()
	ctx, leave, err := w.client.enter(ctx)
	if err != nil {
		return fail("work", "", "", err)
	}
	defer leave()
	err = newWorkerRun(w).run(ctx)
	if err == nil && w.client.open.Err() != nil {
		err = ErrClosed
	}
	return fail("work", "", "", err)
}

// begin returns a context that Stop ends.
func (w *Worker) begin(ctx context.Context) (context.Context, context.CancelFunc, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.stopped:
		return nil, nil, ErrClosed
	case w.began:
		return nil, nil, invalid("worker", "was run before")
	case len(w.routes) == 0:
		return nil, nil, invalid("worker", "handles no queue")
	}
	w.began = true
	ctx, w.stop = context.WithCancel(ctx)
	return ctx, w.stop, nil
}

// Stop ends Run as the end of its ctx does. It does not wait: Run returns when all consumers have
// stopped. It can be called any number of times, also before Run, which then returns [ErrClosed],
// and inside a handler.
func (w *Worker) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	if w.stop != nil {
		w.stop()
	}
}

// workerRun is the state of a running worker. Only the goroutine of run may use its fields.
type workerRun struct {
	*Worker

	slots  *consumer.Slots
	queues map[string]*workerQueue
	listed chan []string
	ended  chan workerEnd
}

// workerQueue is the state of a queue that a running worker has consumed.
type workerQueue struct {
	consumed bool      // it is consumed now
	not      time.Time // it is not consumed again before then
}

// workerEnd is the end of a queue's consumer.
type workerEnd struct {
	queue string
	err   error
}

func newWorkerRun(w *Worker) *workerRun {
	return &workerRun{
		Worker: w, slots: consumer.NewSlots(w.options.Concurrency), queues: map[string]*workerQueue{},
		listed: make(chan []string), ended: make(chan workerEnd),
	}
}

// run consumes queues until ctx ends, or until an error affects all queues.
func (r *workerRun) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	listing := make(chan struct{})
	go func() {
		defer close(listing)
		r.list(ctx)
	}()
	for _, route := range r.routes {
		if route.glob == nil {
			r.consume(ctx, route, route.pattern, r.client.Queue(route.pattern).learn)
		}
	}
	var failed error
	for ctx.Err() == nil {
		select {
		case names := <-r.listed:
			r.look(ctx, names)
		case e := <-r.ended:
			if failed = r.over(ctx, e); failed != nil {
				stop()
			}
		case <-ctx.Done():
		}
	}
	<-listing
	return errors.Join(failed, r.wait())
}

// wait waits for all consumers, and returns their remaining errors.
func (r *workerRun) wait() error {
	var left error
	for _, q := range r.queues {
		if !q.consumed {
			continue
		}
		left = errors.Join(left, (<-r.ended).failure())
	}
	return left
}

// failure is nil for a queue that was deleted.
func (e workerEnd) failure() error {
	if errors.Is(e.err, ErrNotFound) {
		return nil
	}
	return fail("consume", e.queue, "", e.err)
}

// list reads the names of the queues at an interval, until ctx ends.
func (r *workerRun) list(ctx context.Context) {
	ticker := time.NewTicker(listQueuesEvery)
	defer ticker.Stop()
	for {
		names, err := consumer.Insist(ctx, r.client.log, r.client.store.Queues)
		if err != nil {
			r.client.log.ErrorContext(ctx, "dueq: could not list the queues; the worker tries again", slog.Any("error", err))
		}
		select {
		case r.listed <- names:
		case <-ctx.Done():
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// look starts consumers of the queues that exist, match a pattern and are not consumed.
func (r *workerRun) look(ctx context.Context, names []string) {
	for _, name := range names {
		if route := r.match(name); route != nil {
			r.consume(ctx, route, name, r.client.Queue(name).find)
		}
	}
}

// consume starts a consumer of a queue, unless there is one. It waits a little for it.
func (r *workerRun) consume(ctx context.Context, route *workerRoute, name string, learn func(context.Context) (store.Settings, error)) {
	known := r.queues[name]
	if known == nil {
		known = &workerQueue{}
		r.queues[name] = known
	}
	if known.consumed || time.Now().Before(known.not) {
		return
	}
	known.consumed = true
	options, q, learned := r.options, r.client.Queue(name), make(chan struct{})
	options.Concurrency = route.most
	announce := sync.OnceFunc(func() { close(learned) })
	go func() {
		r.ended <- workerEnd{name, q.consume(ctx, &options, func(ctx context.Context) (store.Settings, error) {
			defer announce()
			return learn(ctx)
		}, func(config *consumer.Config) {
			q.handler(route.handler)(config)
			config.Share = r.slots.Share(route.weight, route.most)
		})}
	}()
	select {
	case <-learned:
	case <-time.After(startWithin):
	case <-ctx.Done():
	}
}

// over notes that a consumer has ended, and returns its error if that affects all queues.
func (r *workerRun) over(ctx context.Context, e workerEnd) error {
	known, err := r.queues[e.queue], e.failure()
	known.consumed = false
	switch {
	case err == nil:
		delete(r.queues, e.queue)
		return nil
	case ctx.Err() != nil, errors.Is(err, ErrClosed), errors.Is(err, ErrFailed):
		return err
	}
	known.not = time.Now().Add(consumeAgainAfter)
	r.client.log.ErrorContext(ctx, "dueq: a queue cannot be consumed; the worker tries again later",
		slog.String("queue", e.queue), slog.Duration("in", consumeAgainAfter), slog.Any("error", err))
	return nil
}
