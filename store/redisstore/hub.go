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
	// placeEvery is how often the masters of the channels are looked up on a Cluster, in memory:
	// a master that has lost its slots because it hangs does not notify its subscribers.
	placeEvery = 2 * time.Second
	// placeAfter is the time until a channel is placed again that a server refused for now,
	// because it does not have its slot any more, or not yet.
	placeAfter = 100 * time.Millisecond
)

// hub receives the events of the queues that are watched, on one line to each server that has
// channels of theirs. It has lines only while there are watches.
type hub struct {
	store *Store

	mu       sync.Mutex
	topics   map[string]*topic   // by queue
	channels map[string]*channel // by name, those of all topics
	lines    map[string]*line    // by the address of the server
	changed  chan struct{}       // has an element when the channels or their masters have changed
	stop     context.CancelFunc  // of the running hub; nil: it does not run
	done     chan struct{}       // closed when the last one has ended
}

// topic is a queue that is watched.
type topic struct {
	queue    string
	channels []*channel // on a Cluster one for each partition, elsewhere one
	watches  map[*watch]bool
	notified bool // that events arrive, or that some do not
	logged   bool // that a server refuses a subscription
}

// channel is a channel of a topic.
type channel struct {
	name  string
	topic *topic
	line  *line // nil: it is not placed
	state subscription
	away  bool // the last connection to its server has failed
}

// watch is one call of Watch.
type watch struct{ notify func(store.Event) }

// subscription is the state of a channel on its line.
type subscription int

const (
	unsubscribed subscription = iota
	asked
	subscribed
	denied
)

func newHub(s *Store) *hub {
	return &hub{
		store: s, topics: map[string]*topic{}, channels: map[string]*channel{}, lines: map[string]*line{},
		changed: make(chan struct{}, 1),
	}
}

// add begins a watch of a queue with that many partitions. notify is called by one goroutine at a
// time.
func (h *hub) add(queue string, partitions int, w *watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[queue]
	if t == nil {
		t = &topic{queue: queue, watches: map[*watch]bool{}}
		h.topics[queue] = t
	}
	h.extend(t, partitions)
	t.watches[w] = true
	if h.stop == nil {
		h.start()
	}
	if t.complete() {
		w.notify(store.Event{Kind: store.EventResync})
	}
}

// grow makes a topic have the channels of that many partitions at least.
func (h *hub) grow(queue string, partitions int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.topics[queue]; t != nil {
		h.extend(t, partitions)
	}
}

func (h *hub) extend(t *topic, partitions int) {
	if !h.store.sharded {
		partitions = 1
	}
	for index := len(t.channels); index < partitions; index++ {
		c := &channel{name: h.store.eventsChannel(store.Partition{Queue: t.queue, Index: index}), topic: t}
		t.channels = append(t.channels, c)
		h.channels[c.name] = c
		h.ring()
	}
}

func (h *hub) start() {
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

// remove ends a watch, and with the last one the hub, for which it waits.
func (h *hub) remove(queue string, w *watch) {
	h.mu.Lock()
	t := h.topics[queue]
	delete(t.watches, w)
	if len(t.watches) == 0 {
		delete(h.topics, queue)
		for _, c := range t.channels {
			delete(h.channels, c.name)
			c.leave()
		}
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

// run keeps lines until ctx ends.
func (h *hub) run(ctx context.Context) {
	var lines sync.WaitGroup
	var again <-chan time.Time
	if h.store.sharded {
		ticker := time.NewTicker(placeEvery)
		defer ticker.Stop()
		again = ticker.C
	}
	for attempt := 0; ctx.Err() == nil; attempt++ {
		if !h.place(ctx, &lines) {
			_ = h.store.wait(ctx, attempt) // what ended the wait is seen in the next round
			continue
		}
		attempt = 0
		select {
		case <-ctx.Done():
		case <-h.changed:
		case <-again:
		}
	}
	lines.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	for address, l := range h.lines {
		delete(h.lines, address)
		l.empty()
	}
}

// place gives each channel a line to the server that has it now, and ends lines that have no channels.
// It reports whether all servers are known.
func (h *hub) place(ctx context.Context, lines *sync.WaitGroup) bool {
	h.mu.Lock()
	all := make([]*channel, 0, len(h.channels))
	for _, c := range h.channels {
		all = append(all, c)
	}
	h.mu.Unlock()
	known := true
	for _, c := range all {
		server, err := h.store.master(ctx, c.name)
		if err != nil {
			known = false
			continue
		}
		h.put(ctx, c, server, lines)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for address, l := range h.lines {
		if len(l.channels) == 0 {
			l.stop()
			delete(h.lines, address)
		} else {
			l.ring()
		}
	}
	return known
}

// put moves a channel to the line of a server.
func (h *hub) put(ctx context.Context, c *channel, server redis.UniversalClient, lines *sync.WaitGroup) {
	h.mu.Lock()
	defer h.mu.Unlock()
	address := addressOf(server)
	switch {
	case h.channels[c.name] != c:
		return // it is not watched any more
	case c.line != nil && c.line.address == address:
		return
	}
	if c.state == subscribed {
		c.topic.notify(store.Event{Kind: store.EventGap})
	}
	c.leave()
	l := h.lines[address]
	if l == nil {
		l = h.connect(ctx, address, server, lines)
	}
	c.line = l
	l.channels[c.name] = c
}

func (h *hub) connect(ctx context.Context, address string, server redis.UniversalClient, lines *sync.WaitGroup) *line {
	ctx, stop := context.WithCancel(ctx)
	l := &line{
		hub: h, address: address, server: server, stop: stop,
		channels: map[string]*channel{}, changed: make(chan struct{}, 1),
	}
	h.lines[address] = l
	lines.Go(func() {
		defer stop()
		l.run(ctx)
	})
	return l
}

// answered notes that a server has accepted a subscription, or denied it.
func (h *hub) answered(c *channel, state subscription, err error) {
	c.state, c.away = state, false
	t := c.topic
	switch {
	case state == denied && !t.logged:
		t.logged = true
		h.store.config.Logger.Warn("dueq: Redis refuses the subscription to a queue's events; its messages are found by polling, up to 2 s late",
			slog.String("queue", t.queue), slog.String("channel", c.name), slog.Any("error", err))
	case t.complete():
		t.logged = false
		t.notify(store.Event{Kind: store.EventResync})
	case t.answeredBy(c.line) && (t.notified || t.decided()):
		t.notify(store.Event{Kind: store.EventGap}) // those of other servers are missing still
	}
}

// lost takes a channel off its line because its server does not have it, or not yet.
func (h *hub) lost(ctx context.Context, c *channel) {
	gap := c.state == subscribed
	c.state = unsubscribed
	c.leave()
	if gap {
		c.topic.notify(store.Event{Kind: store.EventGap})
	}
	h.moved(ctx)
}

// moved makes channels be placed again soon, by the latest map of the Cluster.
func (h *hub) moved(ctx context.Context) {
	if cluster := h.store.pipelines.cluster; cluster != nil {
		cluster.ReloadState(ctx)
	}
	time.AfterFunc(placeAfter, h.ring)
}

func (h *hub) pass(name, payload string) {
	e, ok := parseEvent(payload)
	if !ok {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.channels[name]; c != nil {
		c.topic.pass(e)
	}
}

// complete reports whether the events of all channels arrive.
func (t *topic) complete() bool {
	for _, c := range t.channels {
		if c.state != subscribed {
			return false
		}
	}
	return true
}

// heard reports whether the events of any channel arrive.
func (t *topic) heard() bool {
	for _, c := range t.channels {
		if c.state == subscribed {
			return true
		}
	}
	return false
}

// decided reports whether no channel waits for its first answer from a server that may be there.
func (t *topic) decided() bool {
	for _, c := range t.channels {
		if c.state <= asked && !c.away {
			return false
		}
	}
	return true
}

// answeredBy reports whether all channels on a line have been answered.
func (t *topic) answeredBy(l *line) bool {
	for _, c := range t.channels {
		if c.line == l && c.state <= asked {
			return false
		}
	}
	return true
}

// notify notifies the watches of whether events arrive.
func (t *topic) notify(e store.Event) {
	t.notified = true
	t.pass(e)
}

func (t *topic) pass(e store.Event) {
	for w := range t.watches {
		w.notify(e)
	}
}

// leave takes a channel off its line.
func (c *channel) leave() {
	if c.line == nil {
		return
	}
	delete(c.line.channels, c.name)
	if c.state == subscribed {
		c.line.ending = append(c.line.ending, c.name)
	}
	c.line.ring()
	c.line, c.state = nil, unsubscribed
}
