package redisstore

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/store"
)

const (
	// pingEvery is how often the hub asks whether its connection is alive. One that has been
	// silent for twice as long is given up.
	pingEvery = 10 * time.Second
	// refusedPause is the time between two tries to subscribe when the server refuses it.
	refusedPause = time.Minute
)

// hub receives the events of the queues that are watched, on one connection. It has one only while
// there are watches.
type hub struct {
	store *Store

	mu      sync.Mutex
	topics  map[string]*topic // by channel
	states  map[string]subscription
	asked   []string // channels whose subscription the server has not answered, in order
	changed chan struct{}
	stop    context.CancelFunc // of the running hub; nil: it does not run
	done    chan struct{}      // closed when the last one has ended
}

// topic is a queue that is watched.
type topic struct {
	queue   string
	watches map[*watch]bool
	logged  bool // that the server refuses the subscription
}

// watch is one call of Watch.
type watch struct{ notify func(store.Event) }

// subscription is the state of a channel on the connection.
type subscription int

const (
	unsubscribed subscription = iota
	asked
	subscribed
	denied
)

func newHub(s *Store) *hub {
	return &hub{store: s, topics: map[string]*topic{}, states: map[string]subscription{}, changed: make(chan struct{}, 1)}
}

// add begins a watch. notify is called by one goroutine at a time.
func (h *hub) add(queue string, w *watch) {
	channel := h.store.eventsChannel(queue)
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[channel]
	if t == nil {
		t = &topic{queue: queue, watches: map[*watch]bool{}}
		h.topics[channel] = t
	}
	t.watches[w] = true
	if h.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		before, done := h.done, make(chan struct{})
		h.stop, h.done = stop, done
		go func() {
			defer close(done)
			if before != nil {
				<-before
			}
			h.run(ctx)
		}()
	}
	if h.states[channel] == subscribed {
		w.notify(store.Event{Kind: store.EventResync})
	}
	h.ring()
}

// remove ends a watch, and with the last one the hub, for which it waits.
func (h *hub) remove(queue string, w *watch) {
	channel := h.store.eventsChannel(queue)
	h.mu.Lock()
	t := h.topics[channel]
	delete(t.watches, w)
	if len(t.watches) == 0 {
		delete(h.topics, channel)
	}
	var done chan struct{}
	if len(h.topics) == 0 {
		h.stop()
		h.stop, done = nil, h.done
	}
	h.ring()
	h.mu.Unlock()
	if done != nil {
		<-done
	}
}

func (h *hub) ring() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// run keeps a connection until ctx ends.
func (h *hub) run(ctx context.Context) {
	for attempt := 0; ctx.Err() == nil; attempt++ {
		if h.listen(ctx) {
			attempt = 0
		}
		h.forget()
		if ctx.Err() == nil {
			_ = h.store.wait(ctx, attempt) // what ended the wait is seen in the next round
		}
	}
}

// listen passes events on until the connection fails or ctx ends. It reports whether it was
// subscribed to anything.
func (h *hub) listen(ctx context.Context) (heard bool) {
	ctx, cancel := context.WithCancel(ctx)
	sub := h.store.rdb.Subscribe(ctx)
	// Before the first Receive: on a Cluster, that would connect to any of the masters, and a
	// subscription connects to the one with the slot of the channel.
	if h.subscribe(ctx, sub) != nil {
		cancel()
		_ = sub.Close()
		return false
	}
	alive := make(chan struct{}, 1)
	var background sync.WaitGroup
	background.Go(func() { h.keep(ctx, sub, alive) })
	defer background.Wait()
	defer cancel()
	for {
		// ctx only ends a Receive that is connecting: keep closes sub to end the others.
		message, err := sub.Receive(ctx)
		if err != nil && !refused(err) {
			return heard
		}
		select {
		case alive <- struct{}{}:
		default:
		}
		switch m := message.(type) {
		case *redis.Subscription:
			if m.Kind == "subscribe" {
				heard = true
				h.answered(subscribed, nil)
			}
		case *redis.Message:
			h.pass(m)
		case nil:
			h.answered(denied, err)
		}
	}
}

// keep subscribes to what is watched, pings the server, and closes the subscription when it is
// silent or ctx ends.
func (h *hub) keep(ctx context.Context, sub *redis.PubSub, alive <-chan struct{}) {
	defer func() { _ = sub.Close() }()
	ping, again := time.NewTicker(pingEvery), time.NewTicker(refusedPause)
	defer ping.Stop()
	defer again.Stop()
	for silent := 0; silent < 2; {
		if h.subscribe(ctx, sub) != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-h.changed:
		case <-alive:
			silent = 0
		case <-again.C:
			h.retry()
		case <-ping.C:
			silent++
			if sub.Ping(ctx) != nil {
				return
			}
		}
	}
}

// subscribe asks for the channels that are watched, each with a command of its own: the server may
// refuse some of them. It gives up those that are not watched any more.
func (h *hub) subscribe(ctx context.Context, sub *redis.PubSub) error {
	h.mu.Lock()
	var begin, end []string
	for channel := range h.topics {
		if h.states[channel] == unsubscribed {
			begin = append(begin, channel)
			h.states[channel] = asked
		}
	}
	for channel, state := range h.states {
		if h.topics[channel] == nil && state != asked {
			end = append(end, channel)
			delete(h.states, channel)
		}
	}
	h.asked = append(h.asked, begin...)
	h.mu.Unlock()
	for _, channel := range begin {
		if err := sub.Subscribe(ctx, channel); err != nil {
			return err
		}
	}
	if len(end) == 0 {
		return nil
	}
	return sub.Unsubscribe(ctx, end...)
}

// answered notes the server's answer to the oldest subscription that it had not answered.
func (h *hub) answered(state subscription, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.asked) == 0 {
		return
	}
	channel := h.asked[0]
	h.asked = h.asked[1:]
	h.states[channel] = state
	t := h.topics[channel]
	if t == nil {
		h.ring() // it is not watched any more
		return
	}
	if state == subscribed {
		t.logged = false
		t.notify(store.Event{Kind: store.EventResync})
		return
	}
	if !t.logged {
		h.store.config.Logger.Warn("dueq: Redis refuses the subscription to a queue's events; its messages are found by polling, up to 2 s late",
			slog.String("queue", t.queue), slog.String("channel", channel), slog.Any("error", err))
	}
	t.logged = true
}

// retry makes subscriptions that were refused be asked for again.
func (h *hub) retry() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for channel, state := range h.states {
		if state == denied {
			delete(h.states, channel)
		}
	}
}

// forget notes that the connection is lost.
func (h *hub) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for channel, state := range h.states {
		if t := h.topics[channel]; t != nil && state == subscribed {
			t.notify(store.Event{Kind: store.EventGap})
		}
	}
	h.states, h.asked = map[string]subscription{}, nil
}

func (h *hub) pass(m *redis.Message) {
	e, ok := parseEvent(m.Payload)
	if !ok {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.topics[m.Channel]; t != nil {
		t.notify(e)
	}
}

func (t *topic) notify(e store.Event) {
	for w := range t.watches {
		w.notify(e)
	}
}
