package dueq_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

// grow gives the queue of the rig more partitions.
func (r *rig) grow(partitions int) {
	r.Helper()
	_, err := r.direct.Update(r.Context(), func(s *dueq.Settings) { s.Partitions = partitions })
	r.must(err)
}

func (r *rig) growingFrom() int {
	r.Helper()
	s, err := r.direct.Settings(r.Context())
	r.must(err)
	return s.GrowingFrom
}

// keyThat returns a key that moves to another partition, or not, when a queue grows.
func keyThat(moves bool, from, to int) string {
	for i := 0; ; i++ {
		if key := fmt.Sprintf("key-%d", i); route.Moves(&store.Message{Key: key}, from, to) == moves {
			return key
		}
	}
}

func idOf(t testing.TB, text string) store.ID {
	t.Helper()
	id, err := store.ParseID(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestUpdate_PartitionsGrowAndNeverShrink(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.must(r.direct.Create(r.Context(), dueq.Settings{Partitions: 4}))
		_, err := r.direct.Update(r.Context(), func(s *dueq.Settings) { s.Partitions = 3 })
		if e, ok := errors.AsType[*dueq.Error](err); !ok || !errors.Is(err, dueq.ErrInvalid) || e.Field != "partitions" {
			t.Errorf("fewer: %v", err)
		}
		err = r.direct.Create(r.Context(), dueq.Settings{Partitions: 9})
		if !errors.Is(err, dueq.ErrExists) {
			t.Errorf("created again with another number: %v, want ErrExists", err)
		}
		if s, err := r.direct.Settings(r.Context()); err != nil || s.Partitions != 4 {
			t.Errorf("%d partitions, %v: want 4, Create changes nothing", s.Partitions, err)
		}
		r.grow(6)
		s, err := r.direct.Update(r.Context(), func(s *dueq.Settings) { s.MaxBody = 10 })
		if err != nil || s.Partitions != 6 || s.GrowingFrom != 4 || s.MaxBody != 10 {
			t.Errorf("%+v, %v", s, err)
		}
		_, err = r.direct.Update(r.Context(), func(s *dueq.Settings) { s.Partitions = 8 })
		if !errors.Is(err, dueq.ErrUnavailable) {
			t.Errorf("while it grows: %v, want ErrUnavailable", err)
		}
		if err := r.direct.Create(r.Context(), dueq.Settings{Partitions: 6, MaxBody: 10}); err != nil {
			t.Errorf("created again with the number that it has: %v", err)
		}
	})
}

// A moved key is found and unique in its old partition, and goes to the new one when it is free.
func TestGrowing_KeysStayUniqueAndAreFound(t *testing.T) {
	inBubble(t, func(r *rig) {
		ctx, q := r.Context(), r.direct
		r.must(q.Create(ctx, dueq.Settings{Partitions: 2}))
		key := keyThat(true, 2, 8)
		old := r.send(dueq.Message{Key: key, Delay: time.Hour})
		r.grow(8)
		_, err := q.Send(ctx, dueq.Message{Key: key, Delay: time.Hour})
		if e, ok := errors.AsType[*dueq.Error](err); !ok || !errors.Is(err, dueq.ErrDuplicate) || e.Holder != old {
			t.Errorf("a second one: %v, want ErrDuplicate of %s", err, old)
		}
		replaced := r.send(dueq.Message{Key: key, Delay: time.Hour, Replace: true})
		if p := idOf(t, replaced).Partition(); p != idOf(t, old).Partition() {
			t.Errorf("replaced in partition %d", p)
		}
		if got := r.find(dueq.Key(key)); got.ID != replaced {
			t.Errorf("Get by key finds %s, want %s", got.ID, replaced)
		}
		r.must(q.Reschedule(ctx, dueq.Key(key), dueq.Schedule{Delay: 2 * time.Hour}))
		r.must(q.Cancel(ctx, dueq.Key(key)))
		results, err := q.SendBatch(ctx, []dueq.Message{{Key: key, Delay: time.Hour}, {Key: key}, {Key: keyThat(false, 2, 8), Delay: time.Hour}, {Delay: time.Hour}})
		r.must(err)
		if !errors.Is(results[1].Err, dueq.ErrDuplicate) || results[0].Err != nil || results[2].Err != nil || results[3].Err != nil {
			t.Errorf("results of the batch: %+v", results)
		}
		if p := idOf(t, results[0].ID).Partition(); p != route.ByKey(key, 8) {
			t.Errorf("a free key goes to partition %d, want %d", p, route.ByKey(key, 8))
		}
		again, err := q.Send(ctx, dueq.Message{ID: results[0].ID, Key: key, Delay: time.Hour})
		if err != nil || again != results[0].ID {
			t.Errorf("sent again: %q, %v, want %q", again, err, results[0].ID)
		}
		r.must(q.Cancel(ctx, dueq.Key(key)))
		if err := q.Cancel(ctx, dueq.Key(key)); !errors.Is(err, dueq.ErrNotFound) {
			t.Errorf("cancelled again: %v", err)
		}
	})
}

func TestGrowing_MovedDedupIDsAreKnown(t *testing.T) {
	inBubble(t, func(r *rig) {
		ctx, q := r.Context(), r.direct
		r.must(q.Create(ctx, dueq.Settings{Partitions: 2, DedupFor: time.Hour}))
		ids := map[string]string{}
		for i := range 20 {
			name := fmt.Sprintf("payment-%d", i)
			ids[name] = r.send(dueq.Message{DedupID: name})
		}
		ds, err := q.Receive(ctx, dueq.ReceiveOptions{Max: 7})
		r.must(err)
		for _, d := range ds {
			r.must(d.Ack(ctx))
		}
		r.grow(8)
		for name, id := range ids {
			results, err := q.SendBatch(ctx, []dueq.Message{{DedupID: name}})
			if err != nil || results[0].ID != id || !results[0].Deduplicated {
				t.Errorf("%s sent again: %+v, %v, want %s", name, results[0], err, id)
			}
		}
	})
}

// withoutCancel is a store whose cancels fail.
type withoutCancel struct {
	store.Store
	fails atomic.Bool
}

func (w *withoutCancel) Cancel(ctx context.Context, p store.Partition, r store.CancelRequest) ([]store.Code, error) {
	if w.fails.Load() {
		return nil, store.ErrUnavailable
	}
	return w.Store.Cancel(ctx, p, r)
}

func (w *withoutCancel) Close() error { return nil }

// A dead message whose key has moved is redriven to the new partition; when the call is interrupted
// between its steps, a repetition stores nothing twice.
func TestGrowing_RedriveMovesToTheNewPartition(t *testing.T) {
	inBubble(t, func(r *rig) {
		ctx, q := r.Context(), r.q
		r.must(q.Create(ctx, dueq.Settings{Partitions: 2}))
		moving, staying := keyThat(true, 2, 8), keyThat(false, 2, 8)
		for _, key := range []string{moving, staying} {
			r.send(dueq.Message{Key: key, Body: []byte(key), Headers: map[string]string{"a": "b"}, MaxAttempts: 7})
		}
		ds, err := q.Receive(ctx, dueq.ReceiveOptions{Max: 2})
		r.must(err)
		for _, d := range ds {
			r.must(d.Reject(ctx, errors.New("bad")))
		}
		r.grow(8)
		broken := &withoutCancel{Store: r.net.Store}
		broken.fails.Store(true)
		client := opened(t)(dueq.New(broken, &dueq.Options{Logger: slog.New(slog.DiscardHandler)}))
		defer func() { r.must(client.Close()) }()
		q = client.Queue("work")
		if n, err := q.Redrive(ctx, dueq.Key(moving)); n != 0 || !errors.Is(err, dueq.ErrUnavailable) {
			t.Errorf("interrupted: %d, %v", n, err)
		}
		if s := r.stats(); s.Dead != 2 || s.Ready != 1 {
			t.Errorf("between the steps: %d dead, %d ready", s.Dead, s.Ready)
		}
		broken.fails.Store(false)
		if n, err := q.RedriveAll(ctx, dueq.Filter{}, nil); n != 2 || err != nil {
			t.Errorf("redriven %d, %v", n, err)
		}
		for _, key := range []string{moving, staying} {
			m := r.find(dueq.Key(key))
			if p := idOf(t, m.ID).Partition(); p != route.ByKey(key, 8) || m.State != dueq.Ready || string(m.Body) != key || m.Headers["a"] != "b" || m.MaxAttempts != 7 {
				t.Errorf("%+v in partition %d, want %d", m, p, route.ByKey(key, 8))
			}
		}
		if s := r.stats(); s.Dead != 0 || s.Ready != 2 {
			t.Errorf("%d dead, %d ready", s.Dead, s.Ready)
		}
	})
}

// The growth ends when the old partitions have no message with a moved name, and not before.
func TestGrowing_EndsWhenNoMovedNameIsLeft(t *testing.T) {
	const from, to = 2, 8
	key := keyThat(true, from, to)
	name := ""
	for i := 0; name == ""; i++ {
		if n := fmt.Sprintf("name-%d", i); route.Moves(&store.Message{DedupID: store.NewDedupID(n)}, from, to) {
			name = n
		}
	}
	for what, test := range map[string]struct {
		message dueq.Message
		kept    time.Duration // after the message is gone
		leave   func(r *rig, id string) error
	}{
		"scheduled":  {dueq.Message{Key: key, Delay: time.Hour}, 0, func(r *rig, _ string) error { return r.direct.Cancel(r.Context(), dueq.Key(key)) }},
		"dead":       {dueq.Message{Key: key, Body: []byte("reject")}, 0, func(r *rig, _ string) error { _, err := r.direct.Delete(r.Context(), dueq.Key(key)); return err }},
		"dedup id":   {dueq.Message{DedupID: name, Delay: time.Hour}, 0, func(r *rig, id string) error { return r.direct.Cancel(r.Context(), dueq.ID(id)) }},
		"remembered": {dueq.Message{DedupID: name, Delay: time.Hour, DedupFor: 10 * time.Hour}, 9 * time.Hour, func(r *rig, id string) error { return r.direct.Cancel(r.Context(), dueq.ID(id)) }},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.must(r.direct.Create(r.Context(), dueq.Settings{Partitions: from}))
				for i := range 50 {
					r.send(dueq.Message{Key: keyThat(false, from, to) + fmt.Sprint(i), Delay: 100 * time.Hour})
				}
				n := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
					if string(d.Body) == "reject" {
						return dueq.Reject(errors.New("bad"))
					}
					return nil
				}, dueq.ConsumeOptions{})
				id := r.send(test.message)
				r.sleep(time.Minute)
				moved := r.movedKeys(from, to)
				for _, k := range moved {
					r.must(r.direct.Cancel(r.Context(), dueq.Key(k)))
				}
				r.grow(to)
				r.sleep(10 * time.Minute)
				if got := r.growingFrom(); got != from {
					t.Errorf("while the message is there it grows from %d, want %d", got, from)
				}
				r.must(test.leave(r, id))
				r.sleep(test.kept)
				if got := r.growingFrom(); test.kept > 0 && got != from {
					t.Errorf("while the message is remembered it grows from %d, want %d", got, from)
				}
				r.sleep(2 * time.Hour)
				if got := r.growingFrom(); got != 0 {
					t.Errorf("when the message is gone it grows from %d, want 0", got)
				}
				if id := r.send(dueq.Message{Key: key, Delay: time.Hour}); idOf(t, id).Partition() != route.ByKey(key, to) {
					t.Errorf("%s is not of the key's partition", id)
				}
				_, err := n.end()
				r.must(err)
			})
		})
	}
}

// movedKeys returns the keys of scheduled messages that a growth moves.
func (r *rig) movedKeys(from, to int) []string {
	r.Helper()
	var moved []string
	for m, err := range r.direct.Messages(r.Context(), dueq.ListOptions{Filter: dueq.Filter{State: dueq.Scheduled}}) {
		r.must(err)
		if m.Key != "" && m.Key != keyThat(true, from, to) && route.Moves(&store.Message{Key: m.Key}, from, to) {
			moved = append(moved, m.Key)
		}
	}
	return moved
}

// A consumer that runs uses the new partitions, and what it holds is settled.
func TestConsume_UsesNewPartitionsWithinSeconds(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.must(r.direct.Create(r.Context(), dueq.Settings{Partitions: 2}))
		seen := &tally{}
		release := make(chan struct{})
		n := r.consume(r.q, func(_ context.Context, d *dueq.Delivery) error {
			seen.add(d.ID)
			if string(d.Body) == "wait" {
				<-release
			}
			return nil
		}, dueq.ConsumeOptions{})
		waiting := r.send(dueq.Message{Body: []byte("wait")})
		r.sleep(time.Second)
		r.grow(8)
		r.sleep(time.Second)
		close(release)
		r.sleep(time.Second)
		var ids []string
		for range 64 {
			ids = append(ids, r.send(dueq.Message{}))
		}
		r.sleep(5 * time.Second)
		for _, id := range append(ids, waiting) {
			if seen.of(id) != 1 {
				t.Errorf("%s was delivered %d times", id, seen.of(id))
			}
		}
		if s := r.stats(); s.Counters.Acked != 65 || s.Counters.LeaseLost+s.Counters.Nacked != 0 {
			t.Errorf("%+v", s.Counters)
		}
		_, err := n.end()
		r.must(err)
	})
}

// Messages of a Next whose keys have moved are stored in their partitions, once each.
func TestGrowing_NextOfMovedKeys(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.must(r.direct.Create(r.Context(), dueq.Settings{Partitions: 2}))
		var next []dueq.NextMessage
		var keys []string
		for i := range 30 {
			keys = append(keys, fmt.Sprintf("next-%d", i))
			next = append(next, dueq.NextMessage{Message: dueq.Message{Key: keys[i], Delay: time.Hour}})
		}
		id := r.send(dueq.Message{Delay: time.Minute})
		r.grow(8)
		n := r.consume(r.q, func(context.Context, *dueq.Delivery) error { return dueq.Next(next...) }, dueq.ConsumeOptions{})
		r.sleep(2 * time.Minute)
		if _, err := r.direct.Get(r.Context(), dueq.ID(id)); !errors.Is(err, dueq.ErrNotFound) {
			t.Errorf("the first message: %v", err)
		}
		for _, key := range keys {
			if p := idOf(t, r.find(dueq.Key(key)).ID).Partition(); p != route.ByKey(key, 8) {
				t.Errorf("%s is in partition %d, want %d", key, p, route.ByKey(key, 8))
			}
		}
		if s := r.stats(); s.Counters.Sent != 31 {
			t.Errorf("%d messages were sent, want 31", s.Counters.Sent)
		}
		_, err := n.end()
		r.must(err)
	})
}

// faulty is a hook that ends a client in the middle of a call, or loses replies.
type faulty struct {
	left atomic.Int64 // commands until all are refused
	lose atomic.Int64 // commands until one that is executed, and whose reply is lost
}

func newFaulty() *faulty {
	f := &faulty{}
	f.clear()
	return f
}

func (f *faulty) clear() {
	f.left.Store(1 << 40)
	f.lose.Store(1 << 40)
}

func (f *faulty) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f *faulty) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if f.left.Add(-1) < 0 {
			cmd.SetErr(redis.ErrClosed)
			return redis.ErrClosed
		}
		err := next(ctx, cmd)
		if f.lose.Add(-1) == 0 {
			err = context.DeadlineExceeded // as a timeout of the connection
			cmd.SetErr(err)
		}
		return err
	}
}

func (f *faulty) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if f.left.Add(-1) < 0 {
			for _, cmd := range cmds {
				cmd.SetErr(redis.ErrClosed)
			}
			return redis.ErrClosed
		}
		return next(ctx, cmds)
	}
}

// member is a client of the model test, with its own view of the settings.
type member struct {
	*faulty
	q *dueq.Queue
}

func newMember(t *testing.T, prefix string) *member {
	t.Helper()
	m := &member{faulty: newFaulty()}
	rdb := redistest.Shared(t).Client(t)
	rdb.AddHook(m.faulty)
	client := opened(t)(dueq.NewRedis(rdb, &dueq.Options{Prefix: prefix, Logger: slog.New(slog.DiscardHandler)}))
	t.Cleanup(func() {
		m.clear()
		_ = client.Close()
	})
	m.q = client.Queue("work")
	return m
}

// holders returns the live message of each key, and the keys of dead ones. It fails when two live
// messages have one key.
func holders(ctx context.Context, t *rapid.T, q *dueq.Queue) (live map[string]dueq.Record, dead map[string]bool) {
	t.Helper()
	live, dead = map[string]dueq.Record{}, map[string]bool{}
	for m, err := range q.Messages(ctx, dueq.ListOptions{}) {
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		if m.State == dueq.Dead {
			dead[m.Key] = true
			continue
		}
		if other, twice := live[m.Key]; twice {
			t.Fatalf("key %s has two live messages: %s and %s", m.Key, other.ID, m.ID)
		}
		live[m.Key] = m
	}
	return live, dead
}

// Clients with old and new views of a queue that grows, of which some end in the middle of a call or
// get no replies, keep keys unique, lose nothing, and answer definitely.
func TestGrowing_Model(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		prefix := redistest.Prefix()
		observer := newMember(t, prefix)
		members := []*member{newMember(t, prefix), newMember(t, prefix), newMember(t, prefix)}
		from := rapid.IntRange(1, 3).Draw(rt, "from")
		if err := observer.q.Create(t.Context(), dueq.Settings{Partitions: from}); err != nil {
			rt.Fatal(err)
		}
		for range rapid.IntRange(5, 40).Draw(rt, "steps") {
			m := members[rapid.IntRange(0, len(members)-1).Draw(rt, "client")]
			switch rapid.SampledFrom([]string{"", "", "", "end", "lose"}).Draw(rt, "fault") {
			case "end":
				m.left.Store(int64(rapid.IntRange(0, 6).Draw(rt, "after")))
			case "lose":
				m.lose.Store(int64(rapid.IntRange(1, 4).Draw(rt, "which")))
			}
			modelStep(t.Context(), rt, m.q, observer.q)
			m.clear()
		}
		report, err := observer.q.Check(t.Context())
		if err != nil {
			rt.Fatal(err)
		}
		for _, p := range report.Problems {
			if !isSettingsProblem(p) {
				rt.Errorf("audit: %s: %s", p.ID, p.Text)
			}
		}
	})
}

// isSettingsProblem reports whether a partition has not learnt of the growth yet, because the client
// that was about to say so has ended.
func isSettingsProblem(p dueq.Problem) bool { return p.ID == "" }

// modelStep makes one call and compares what was there before and after it with its answer.
func modelStep(ctx context.Context, rt *rapid.T, q, observer *dueq.Queue) {
	rt.Helper()
	before, deadBefore := holders(ctx, rt, observer)
	key := fmt.Sprintf("k%d", rapid.IntRange(0, 5).Draw(rt, "key"))
	was, held := before[key]
	op := rapid.SampledFrom([]string{"send", "send", "replace", "batch", "cancel", "get", "consume", "kill", "redrive", "grow"}).Draw(rt, "op")
	var err error
	sent := ""
	switch op {
	case "send", "replace":
		sent, err = q.Send(ctx, dueq.Message{Key: key, Replace: op == "replace"})
	case "batch":
		var results dueq.SendResults
		results, err = q.SendBatch(ctx, []dueq.Message{{Key: key}, {Key: key}})
		if err == nil {
			sent, err = results[0].ID, results[0].Err
		}
	case "cancel":
		err = q.Cancel(ctx, dueq.Key(key))
	case "get":
		var r dueq.Record
		r, err = q.Get(ctx, dueq.Key(key))
		if err == nil && r.ID != was.ID && (held || !deadBefore[key]) {
			rt.Fatalf("get %s: %s, the live one is %q", key, r.ID, was.ID)
		}
	case "consume", "kill":
		var ds []*dueq.Delivery
		if ds, err = q.Receive(ctx, dueq.ReceiveOptions{Max: 1}); err == nil && len(ds) == 1 {
			key = ds[0].Key
			was, held = before[key]
			if op == "consume" {
				err = ds[0].Ack(ctx)
			} else {
				err = ds[0].Reject(ctx, errors.New("bad"))
			}
		} else {
			key = "" // nothing was handed out, or it waits for the end of its lease
		}
	case "redrive":
		_, err = q.Redrive(ctx, dueq.Key(key))
	case "grow":
		_, err = q.Update(ctx, func(s *dueq.Settings) { s.Partitions += 2 })
		key = ""
	}
	after, deadAfter := holders(ctx, rt, observer)
	now, holds := after[key]
	bad := func(why string) {
		rt.Helper()
		rt.Fatalf("%s %s: %q, %v: %s; before %q (dead %v), after %q (dead %v)", op, key, sent, err, why, was.ID, deadBefore[key], now.ID, deadAfter[key])
	}
	delete(before, key)
	delete(after, key)
	if !maps.EqualFunc(before, after, func(a, b dueq.Record) bool { return a.ID == b.ID }) {
		bad("a message with another key has changed")
	}
	switch {
	case key == "":
	case errors.Is(err, dueq.ErrDuplicate) && (!held || !holds || now.ID != was.ID):
		bad("no message has the key")
	case errors.Is(err, dueq.ErrNotFound) && (op == "cancel" || op == "get") && (held || deadBefore[key]):
		bad("there is a message with the key")
	case errors.Is(err, dueq.ErrDead) && (held || !deadBefore[key]):
		bad("there is no dead message, or a live one")
	case err != nil:
	case op == "send" || op == "batch":
		if held || now.ID != sent {
			bad("it was not stored alone")
		}
	case op == "replace" && now.ID != sent, op == "cancel" && holds, (op == "consume" || op == "kill") && holds, op == "redrive" && (held || !holds):
		bad("it was not done")
	}
}

func TestGrowing_UnderLoad(t *testing.T) {
	t.Parallel()
	prefix := redistest.Prefix()
	growUnderLoad(t, func() *dueq.Queue { return newMember(t, prefix).q })
}

func TestCluster_GrowingUnderLoad(t *testing.T) {
	t.Parallel()
	var hosts []string
	for _, n := range redistest.StartCluster(t, 3) {
		hosts = append(hosts, n.Addr())
	}
	growUnderLoad(t, func() *dueq.Queue { return open(t.Context(), t, "redis+cluster://"+strings.Join(hosts, ",")) })
}

// growUnderLoad lets a queue grow while clients with the old view send and consume. newQueue returns the
// queue of another client.
func growUnderLoad(t *testing.T, newQueue func() *dueq.Queue) {
	t.Helper()
	const producers, each, keys = 4, 400, 50
	q := newQueue()
	if err := q.Create(t.Context(), dueq.Settings{Partitions: 2}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	seen := &tally{}
	var busy sync.Map // keys of handlers that run
	var consuming, sending sync.WaitGroup
	for range 3 {
		n := newQueue()
		consuming.Go(func() {
			err := n.Consume(ctx, func(_ context.Context, d *dueq.Delivery) error {
				if d.Key != "" {
					if _, twice := busy.LoadOrStore(d.Key, d.ID); twice {
						t.Errorf("two messages with the key %s run", d.Key)
					}
					defer busy.Delete(d.Key)
				}
				seen.add(d.ID)
				return nil
			}, dueq.ConsumeOptions{})
			if err != nil {
				t.Error(err)
			}
		})
	}
	var mu sync.Mutex
	var ids []string
	half := make(chan struct{})
	var sent atomic.Int64
	for i := range producers {
		p := newQueue()
		sending.Go(func() {
			for j := range each {
				m := dueq.Message{}
				if j%2 == 0 {
					m.Key = fmt.Sprintf("key-%d", (i*each+j)%keys)
				}
				id, err := p.Send(ctx, m)
				if sent.Add(1) == producers*each/2 {
					close(half)
				}
				if errors.Is(err, dueq.ErrDuplicate) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				ids = append(ids, id)
				mu.Unlock()
			}
		})
	}
	select {
	case <-half:
	case <-ctx.Done():
		t.Fatal(ctx.Err())
	}
	if _, err := q.Update(ctx, func(s *dueq.Settings) { s.Partitions = 8 }); err != nil {
		t.Fatal(err)
	}
	sending.Wait()
	for s := (dueq.Stats{}); s.Counters.Acked < int64(len(ids)) || s.Settings.GrowingFrom != 0; {
		var err error
		if s, err = q.Stats(ctx); err != nil {
			t.Fatalf("%d of %d acked, growing from %d: %v", s.Counters.Acked, len(ids), s.Settings.GrowingFrom, err)
		}
		pass(100 * time.Millisecond)
	}
	stop()
	consuming.Wait()
	used := map[int]bool{}
	for _, id := range ids {
		used[idOf(t, id).Partition()] = true
		if seen.of(id) == 0 {
			t.Errorf("%s was not delivered", id)
		}
	}
	if len(used) != 8 {
		t.Errorf("messages were in the partitions %v", slices.Sorted(maps.Keys(used)))
	}
	report, err := q.Check(t.Context())
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("audit: %+v, %v", report.Problems, err)
	}
}
