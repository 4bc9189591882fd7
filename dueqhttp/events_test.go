package dueqhttp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqhttp"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded"
)

// watchedStore counts the looks at all queues, and fails them on demand.
type watchedStore struct {
	*embedded.Store
	looks  atomic.Int64
	broken atomic.Bool
}

func (s *watchedStore) Stats(ctx context.Context, queue string) ([]store.Stats, error) {
	s.looks.Add(1)
	if s.broken.Load() {
		return nil, store.ErrUnavailable
	}
	return s.Store.Stats(ctx, queue)
}

// watching has a handler whose events are read, in synthetic time.
type watching struct {
	*testing.T
	store    *watchedStore
	client   *dueq.Client
	handler  http.Handler
	stop     func() // of the server
	secret   string
	sessions sync.WaitGroup
}

func watch(t *testing.T, tokens []dueqhttp.Token, test func(w *watching)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		w := &watching{T: t, store: &watchedStore{Store: embedded.NewMemory(embedded.Config{})}}
		var err error
		if w.client, err = dueq.New(w.store, &dueq.Options{Logger: slog.New(slog.DiscardHandler)}); err != nil {
			t.Fatal(err)
		}
		stopping, stop := context.WithCancel(t.Context())
		w.stop = stop
		w.handler, err = dueqhttp.Handler(w.client, &dueqhttp.Options{Stopping: stopping, Tokens: tokens, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		test(w)
		stop()
		w.sessions.Wait()
		if err := w.client.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// subscriber reads events.
type subscriber struct {
	mu       sync.Mutex
	text     bytes.Buffer
	header   http.Header
	status   int
	stuck    bool // it takes nothing
	deadline time.Time
	closed   func() // by the reader
	ended    bool   // by the server
}

func (s *subscriber) Header() http.Header             { return s.header }
func (s *subscriber) WriteHeader(status int)          { s.status = status }
func (s *subscriber) FlushError() error               { return nil }
func (s *subscriber) SetReadDeadline(time.Time) error { return nil }

func (s *subscriber) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	return nil
}

func (s *subscriber) Write(b []byte) (int, error) {
	s.mu.Lock()
	stuck, deadline := s.stuck, s.deadline
	if !stuck {
		defer s.mu.Unlock()
		return s.text.Write(b)
	}
	s.mu.Unlock()
	<-time.After(time.Until(deadline))
	return 0, os.ErrDeadlineExceeded
}

// over reports whether the server has ended the answer.
func (s *subscriber) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// event is an event as readers see it.
type event struct {
	name    string
	Queues  []state
	Removed []string
	Code    string
}

// state is that of a queue.
type state struct {
	Queue           string
	Paused          bool
	Scheduled, Dead int64
	OldestReadyMS   int64 `json:"oldest_ready_ms"`
	Rates           *struct {
		Sent, Delivered, Acked, Nacked float64
		DeadLettered                   float64 `json:"dead_lettered"`
	}
}

// read begins to read events.
func (w *watching) read(query string) *subscriber {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	s := &subscriber{header: http.Header{}, closed: cancel}
	r := httptest.NewRequestWithContext(ctx, "GET", "http://localhost/v1/events"+query, http.NoBody)
	r.Header.Set("Authorization", "Bearer "+w.secret)
	w.sessions.Go(func() {
		defer cancel()
		w.handler.ServeHTTP(s, r)
		s.mu.Lock()
		s.ended = true
		s.mu.Unlock()
	})
	synctest.Wait()
	return s
}

// take returns the events since the last call, and the number of comments.
func (s *subscriber) take(t *testing.T) (events []event, comments int) {
	t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for part := range strings.SplitSeq(s.text.String(), "\n\n") {
		part = strings.TrimPrefix(part, "retry: 2000\n")
		name, data, found := strings.Cut(strings.TrimPrefix(part, "event: "), "\ndata: ")
		switch {
		case part == "":
		case part[0] == ':':
			comments++
		case !found:
			t.Errorf("no event: %q", part)
		default:
			e := event{name: name}
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Errorf("%v: %s", err, data)
			}
			events = append(events, e)
		}
	}
	s.text.Reset()
	return events, comments
}

// one returns the only event since the last call.
func (s *subscriber) one(t *testing.T, name string) event {
	t.Helper()
	events, _ := s.take(t)
	if len(events) != 1 || events[0].name != name {
		t.Fatalf("events %+v, want one %s", events, name)
	}
	return events[0]
}

// names returns the queues of an event.
func (e event) names() string {
	var names []string
	for _, q := range e.Queues {
		names = append(names, q.Queue)
	}
	return strings.Join(names, " ")
}

func (w *watching) create(queues ...string) {
	w.Helper()
	for _, q := range queues {
		if err := w.client.Queue(q).Create(w.Context(), dueq.Settings{}); err != nil {
			w.Fatal(err)
		}
	}
}

// pass lets a look at the store pass.
func pass(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // takes no time in a bubble

func TestEvents_SnapshotThenWhatChanges(t *testing.T) {
	watch(t, nil, func(w *watching) {
		w.create("a", "b")
		s := w.read("")
		if e := s.one(w.T, "snapshot"); e.names() != "a b" || e.Queues[0].Rates != nil || s.status != http.StatusOK || s.header.Get("Content-Type") != "text/event-stream" {
			w.Errorf("%d %v: %+v", s.status, s.header, e)
		}
		pass(1500 * time.Millisecond)
		s.one(w.T, "change") // the rates are known now
		pass(time.Second)
		if events, _ := s.take(w.T); len(events) > 0 {
			w.Errorf("events without a change: %+v", events)
		}
		for range 3 {
			if _, err := w.client.Queue("b").Send(w.Context(), dueq.Message{Delay: time.Hour}); err != nil {
				w.Fatal(err)
			}
		}
		if err := w.client.Queue("b").Pause(w.Context()); err != nil {
			w.Fatal(err)
		}
		pass(time.Second)
		e := s.one(w.T, "change")
		if e.names() != "b" || !e.Queues[0].Paused || e.Queues[0].Scheduled != 3 || e.Queues[0].Rates.Sent != 3 {
			w.Errorf("after sends and a pause: %+v", e)
		}
		pass(time.Second)
		if e := s.one(w.T, "change"); e.names() != "b" || e.Queues[0].Rates.Sent != 0 {
			w.Errorf("a second later: %+v", e)
		}
		if err := w.client.DeleteQueue(w.Context(), "a", nil); err != nil {
			w.Fatal(err)
		}
		pass(time.Second)
		if e := s.one(w.T, "change"); len(e.Queues) > 0 || !slices.Equal(e.Removed, []string{"a"}) {
			w.Errorf("after a deletion: %+v", e)
		}
		again := w.read("")
		if e := again.one(w.T, "snapshot"); e.names() != "b" || e.Queues[0].Scheduled != 3 {
			w.Errorf("a reader that comes back gets %+v", e)
		}
	})
}

// While messages wait, for how long they have waited grows: that alone is no event.
func TestEvents_WaitOfReadyMessagesIsNoChange(t *testing.T) {
	watch(t, nil, func(w *watching) {
		w.create("a")
		q := w.client.Queue("a")
		send := func(delay time.Duration) string {
			id, err := q.Send(w.Context(), dueq.Message{Delay: delay})
			if err != nil {
				w.Fatal(err)
			}
			return id
		}
		oldest := send(0)
		s := w.read("")
		pass(2500 * time.Millisecond)
		s.take(w.T)
		pass(time.Minute)
		if events, _ := s.take(w.T); len(events) > 0 {
			w.Errorf("%d events in a minute, the last %+v", len(events), events[len(events)-1])
		}
		if e := w.read("").one(w.T, "snapshot"); e.Queues[0].OldestReadyMS < 62_000 || e.Queues[0].OldestReadyMS > 63_000 {
			w.Errorf("another reader is sent a wait of %d ms", e.Queues[0].OldestReadyMS)
		}
		later := send(time.Hour)
		pass(2500 * time.Millisecond)
		s.take(w.T)
		for id, delay := range map[string]time.Duration{oldest: time.Hour, later: 0} { // as many are ready as before
			if err := q.Reschedule(w.Context(), dueq.ID(id), dueq.Schedule{Delay: delay}); err != nil {
				w.Fatal(err)
			}
		}
		pass(time.Second)
		if e := s.one(w.T, "change"); e.Queues[0].OldestReadyMS > 1000 {
			w.Errorf("when another one is the oldest: %+v", e)
		}
	})
}

func TestEvents_Heartbeat(t *testing.T) {
	watch(t, nil, func(w *watching) {
		w.create("a")
		s := w.read("")
		pass(2 * time.Second)
		s.take(w.T)
		pass(time.Minute)
		if events, comments := s.take(w.T); len(events) > 0 || comments < 3 || comments > 4 {
			w.Errorf("%d events and %d comments in a minute, want none and 4", len(events), comments)
		}
	})
}

func TestEvents_CostDoesNotGrowWithReaders(t *testing.T) {
	watch(t, nil, func(w *watching) {
		w.create("a")
		var all []*subscriber
		for range 50 {
			all = append(all, w.read(""))
		}
		before := w.store.looks.Load()
		pass(10 * time.Second)
		if n := w.store.looks.Load() - before; n < 8 || n > 11 {
			w.Errorf("%d looks at the store in 10 s", n)
		}
		for _, s := range all {
			s.closed()
		}
		synctest.Wait()
		before = w.store.looks.Load()
		pass(10 * time.Second)
		if n := w.store.looks.Load() - before; n > 0 {
			w.Errorf("%d looks at the store without a reader", n)
		}
		if e := w.read("").one(w.T, "snapshot"); e.names() != "a" {
			w.Errorf("the next reader gets %+v", e)
		}
	})
}

func TestEvents_QueuesOfTheRequestAndTheToken(t *testing.T) {
	secret, hash := dueqhttp.NewSecret()
	tokens := []dueqhttp.Token{{Name: "mail", SHA256: hash, Scopes: []dueqhttp.Scope{dueqhttp.Read}, Queues: []string{"mail-*", "post"}}}
	watch(t, tokens, func(w *watching) {
		w.secret = secret
		w.create("mail-1", "mail-2", "orders", "post")
		for query, want := range map[string]string{
			"": "mail-1 mail-2 post", "?queue=mail-*": "mail-1 mail-2", "?queue=mail-1&queue=post": "mail-1 post", "?queue=*": "mail-1 mail-2 post",
			"?queue=mail-3": "",
		} {
			if e := w.read(query).one(w.T, "snapshot"); e.names() != want {
				w.Errorf("%s: %s, want %s", query, e.names(), want)
			}
		}
		for query, want := range map[string]int{
			"?queue=orders": http.StatusForbidden, "?queue=a+b": http.StatusBadRequest, "?queue=[": http.StatusBadRequest, "?queue=": http.StatusBadRequest,
			"?queues=a": http.StatusBadRequest, "?" + strings.Repeat("queue=*&", 101): http.StatusBadRequest, "?queue=" + strings.Repeat("*", 129): http.StatusBadRequest,
		} {
			if s := w.read(query); s.status != want || !s.over() {
				w.Errorf("%.40s: status %d, want %d", query, s.status, want)
			}
		}
	})
}

func TestEvents_ReadersHaveABound(t *testing.T) {
	watch(t, nil, func(w *watching) {
		w.create("a")
		var first *subscriber
		for i := range 100 {
			s := w.read("")
			if i == 0 {
				first = s
			}
			if s.status != http.StatusOK {
				w.Fatalf("reader %d: %d", i, s.status)
			}
		}
		s := w.read("")
		if s.status != http.StatusTooManyRequests || !strings.Contains(s.text.String(), "too_many_readers") || s.header.Get("Retry-After") == "" {
			w.Errorf("one more: %d %s", s.status, s.text.String())
		}
		first.closed()
		synctest.Wait()
		if s := w.read(""); s.status != http.StatusOK {
			w.Errorf("after one has left: %d", s.status)
		}
	})
}

func TestEvents_ReaderThatTakesNothingIsDropped(t *testing.T) {
	watch(t, nil, func(w *watching) {
		w.create("a")
		stuck, other := w.read(""), w.read("")
		stuck.mu.Lock()
		stuck.stuck = true
		stuck.mu.Unlock()
		pass(2 * time.Second)
		other.take(w.T)
		if err := w.client.Queue("a").Pause(w.Context()); err != nil {
			w.Fatal(err)
		}
		pass(time.Second)
		if e := other.one(w.T, "change"); !e.Queues[0].Paused {
			w.Errorf("beside it another reader gets %+v", e)
		}
		pass(time.Minute)
		if !stuck.over() || other.over() {
			w.Errorf("dropped: %t, and the other: %t", stuck.over(), other.over())
		}
	})
}

func TestEvents_EndWhenTheServerStops(t *testing.T) {
	watch(t, nil, func(w *watching) {
		s := w.read("")
		w.stop()
		if synctest.Wait(); !s.over() {
			w.Error("the answer goes on")
		}
	})
}

func TestEvents_StoreThatDoesNotAnswer(t *testing.T) {
	watch(t, nil, func(w *watching) {
		w.create("a")
		s := w.read("")
		pass(1500 * time.Millisecond)
		s.take(w.T)
		w.store.broken.Store(true)
		pass(5 * time.Second)
		if e := s.one(w.T, "problem"); e.Code != "unavailable" {
			w.Errorf("%+v", e)
		}
		if late := w.read(""); late.status != http.StatusServiceUnavailable || !late.over() {
			w.Errorf("a new reader gets %d", late.status)
		}
		w.store.broken.Store(false)
		pass(1500 * time.Millisecond)
		if e := s.one(w.T, "change"); len(e.Removed) > 0 {
			w.Errorf("when it answers again: %+v", e)
		}
	})
}

func TestMembers_ConsumersOfAQueue(t *testing.T) {
	inBubble(t, func(t *testing.T, client *dueq.Client, h http.Handler, _ func()) {
		t.Helper()
		members := func(queue string) string {
			t.Helper()
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost/v1/queues/"+queue+"/members", http.NoBody))
			if w.Code != http.StatusOK {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			return strings.TrimSpace(w.Body.String())
		}
		if got := members("missing"); got != `{"members":[]}` {
			t.Errorf("of a queue that does not exist: %s", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- client.Queue("work").Consume(ctx, func(context.Context, *dueq.Delivery) error { return nil }, dueq.ConsumeOptions{Name: "mailer"})
		}()
		for _, want := range []string{`"on_duty":[],"trial":true}]}`, `"on_duty":[0],"trial":false}]}`} {
			pass(time.Second)
			synctest.Wait()
			if got := members("work"); !strings.HasPrefix(got, `{"members":[{"name":"mailer`) || !strings.HasSuffix(got, want) {
				t.Errorf("%s, want the end %s", got, want)
			}
			pass(30 * time.Second)
		}
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestDocs_EventsAreSent makes the request for events in docs/HTTP.md, on a real connection.
func TestDocs_EventsAreSent(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/HTTP.md")
	if err != nil {
		t.Fatal(err)
	}
	_, path, found := strings.Cut(string(text), "\ncurl -N 'localhost:7373")
	if path, _, _ = strings.Cut(path, "'"); !found {
		t.Fatal("the command is not there")
	}
	r := serve(t, nil)
	r.sent("orders", `{}`)
	client := http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	response, err := client.Do(r.request("GET", path, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewReader(response.Body)
	for _, want := range []string{"retry: 2000\n", "event: snapshot\n", `data: {"queues":[{"queue":"orders","paused":false,"scheduled":0,"ready":1,`} {
		if line, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, want) {
			t.Errorf("%q, %v, want %q", line, err, want)
		}
	}
}
