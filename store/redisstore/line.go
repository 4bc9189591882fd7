package redisstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/store"
)

const (
	// pingEvery is how often a line asks whether its connection is alive. One that has been
	// silent for twice as long is given up.
	pingEvery = 10 * time.Second
	// refusedPause is the time between two tries to subscribe when the server refuses it.
	refusedPause = time.Minute
)

// line is the connection of a hub to one server. What is guarded is so by hub.mu.
type line struct {
	hub     *hub
	address string // "" where there is one server
	server  redis.UniversalClient
	stop    context.CancelFunc
	changed chan struct{} // has an element when the channels have changed

	channels map[string]*channel // by name; guarded
	ending   []string            // channels to unsubscribe from; guarded
	asked    []string            // channels whose subscription the server has not answered, in order; guarded
}

func addressOf(server redis.UniversalClient) string {
	if node, ok := server.(*redis.Client); ok {
		return node.Options().Addr
	}
	return ""
}

func (l *line) ring() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// run keeps a connection until ctx ends.
func (l *line) run(ctx context.Context) {
	for attempt := 0; ctx.Err() == nil; attempt++ {
		if l.listen(ctx) {
			attempt = 0
		}
		l.forget(ctx)
		if ctx.Err() == nil {
			_ = l.hub.store.wait(ctx, attempt) // what ended the wait is seen in the next round
		}
	}
}

// listen passes events on until the connection fails or ctx ends. It reports whether it was
// subscribed to anything.
func (l *line) listen(ctx context.Context) (heard bool) {
	ctx, cancel := context.WithCancel(ctx)
	sub := l.server.Subscribe(ctx)
	alive := make(chan struct{}, 1)
	var background sync.WaitGroup
	background.Go(func() { l.keep(ctx, sub, alive) })
	defer background.Wait()
	defer cancel()
	for {
		// ctx only ends a Receive that is connecting: keep closes sub to end the others.
		message, err := sub.Receive(ctx)
		if err != nil && !answer(err) {
			return heard
		}
		select {
		case alive <- struct{}{}:
		default:
		}
		switch m := message.(type) {
		case *redis.Subscription:
			heard = heard || m.Kind == "subscribe" || m.Kind == "ssubscribe"
			l.note(ctx, m)
		case *redis.Message:
			l.hub.pass(m.Channel, m.Payload)
		case nil:
			if !l.refused(ctx, err) {
				return heard
			}
		}
	}
}

// keep subscribes to the channels, pings the server, and closes the subscription when it is silent or
// ctx ends.
func (l *line) keep(ctx context.Context, sub *redis.PubSub, alive <-chan struct{}) {
	defer func() { _ = sub.Close() }()
	ping, again := time.NewTicker(pingEvery), time.NewTicker(refusedPause)
	defer ping.Stop()
	defer again.Stop()
	for silent := 0; silent < 2; {
		if l.subscribe(ctx, sub) != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-l.changed:
		case <-alive:
			silent = 0
		case <-again.C:
			l.retry()
		case <-ping.C:
			silent++
			if sub.Ping(ctx) != nil {
				return
			}
		}
	}
}

// subscribe gives up the channels that have left, and asks for those that have come, each with a
// command of its own: the server may refuse some of them, and on a Cluster they are in several slots.
func (l *line) subscribe(ctx context.Context, sub *redis.PubSub) error {
	l.hub.mu.Lock()
	begin, end := []string(nil), l.ending
	l.ending = nil
	for name, c := range l.channels {
		if c.state == unsubscribed {
			begin = append(begin, name)
			c.state = asked
		}
	}
	l.asked = append(l.asked, begin...)
	l.hub.mu.Unlock()
	subscribe, unsubscribe := sub.Subscribe, sub.Unsubscribe
	if l.hub.store.sharded {
		subscribe, unsubscribe = sub.SSubscribe, sub.SUnsubscribe
	}
	for _, name := range end {
		if err := unsubscribe(ctx, name); err != nil {
			return err
		}
	}
	for _, name := range begin {
		if err := subscribe(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// note notes that a subscription has begun or ended.
func (l *line) note(ctx context.Context, m *redis.Subscription) {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	c := l.channels[m.Channel]
	switch m.Kind {
	case "subscribe", "ssubscribe":
		if i := slices.Index(l.asked, m.Channel); i >= 0 {
			l.asked = slices.Delete(l.asked, i, i+1)
		}
		if c == nil { // it has left meanwhile
			l.ending = append(l.ending, m.Channel)
			l.ring()
			return
		}
		l.hub.answered(c, subscribed, nil)
	case "sunsubscribe":
		if c != nil && c.state == subscribed { // its slot was moved to another server
			l.hub.lost(ctx, c)
		}
	}
}

// refused notes an error as the answer to the oldest subscription that was not answered, and reports
// whether there was one.
func (l *line) refused(ctx context.Context, err error) bool {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	if len(l.asked) == 0 {
		return false
	}
	c := l.channels[l.asked[0]]
	l.asked = l.asked[1:]
	switch {
	case c == nil: // it has left meanwhile
	case transient(err):
		l.hub.lost(ctx, c)
	default:
		l.hub.answered(c, denied, err)
	}
	return true
}

// retry makes subscriptions that were refused be asked for again.
func (l *line) retry() {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	for _, c := range l.channels {
		if c.state == denied {
			c.state = unsubscribed
		}
	}
}

// forget notes that the connection is lost.
func (l *line) forget(ctx context.Context) {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	l.asked, l.ending = nil, nil
	affected := map[*topic]bool{} // whether events were arriving
	for _, c := range l.channels {
		affected[c.topic] = affected[c.topic] || c.state == subscribed
		c.state, c.away = unsubscribed, true
	}
	for t, arrived := range affected {
		if arrived || !t.notified && t.heard() && t.decided() {
			t.notify(store.Event{Kind: store.EventGap})
		}
	}
	l.hub.moved(ctx)
}

// empty takes all channels off the line.
func (l *line) empty() {
	for name, c := range l.channels {
		delete(l.channels, name)
		c.line, c.state = nil, unsubscribed
	}
}
