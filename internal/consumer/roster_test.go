package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded"
)

// beats is a store that counts the calls of rosters, and can refuse or forget.
type beats struct {
	store.Store
	beats, duties  atomic.Int64
	latency        atomic.Int64 // of a beat
	refuse, forget atomic.Bool
}

func (b *beats) Beat(ctx context.Context, r store.BeatRequest) (store.BeatResult, error) {
	b.beats.Add(1)
	defer func() { pass(time.Duration(b.latency.Load())) }()
	if b.forget.CompareAndSwap(true, false) {
		if _, err := b.Store.Beat(ctx, store.BeatRequest{Client: r.Client}); err != nil {
			return store.BeatResult{}, err
		}
	}
	return b.Store.Beat(ctx, r)
}

func (b *beats) Duties(ctx context.Context, r []store.DutyRequest) ([]store.Duties, error) {
	b.duties.Add(1)
	if b.refuse.Load() {
		return nil, errors.Join(errors.New("refused"), store.ErrUnavailable)
	}
	return b.Store.Duties(ctx, r)
}

// withRoster runs test with a roster in a bubble of synthetic time.
func withRoster(t *testing.T, test func(t *testing.T, s *beats, r *Roster)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &beats{Store: embedded.NewMemory(embedded.Config{})}
		var running sync.WaitGroup
		test(t, s, NewRoster(s, "client", &running, slog.New(slog.DiscardHandler)))
		running.Wait()
		_ = s.Close()
	})
}

// pass lets the synthetic time of a bubble pass.
func pass(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // takes no time in a bubble

func quietPost(queue, name string) *post { return newPost(queue, name, 1, func() {}) }

func leaveAll(r *Roster, posts []*post) {
	var leaving sync.WaitGroup
	for _, p := range posts {
		leaving.Go(func() { r.leave(context.Background(), p) })
	}
	leaving.Wait()
}

// One beat is for all consumers of a client.
func TestRoster_OneBeatForAllConsumers(t *testing.T) {
	withRoster(t, func(t *testing.T, s *beats, r *Roster) {
		var posts []*post
		for i := range 1200 {
			posts = append(posts, quietPost(fmt.Sprint("queue-", i), "c"))
			r.join(posts[i])
		}
		pass(time.Minute)
		for _, p := range posts {
			if d := p.duties.Load(); d == nil || !slices.Equal(d.Owners, []int{0}) || d.Index != 0 {
				t.Fatalf("duties of %s: %+v, want it on duty", p.member.Queue, d)
			}
		}
		beats, duties := s.beats.Load(), s.duties.Load()
		pass(100 * time.Second)
		if b, d := s.beats.Load()-beats, s.duties.Load()-duties; b < 15 || b > 25 || d != 0 {
			t.Errorf("%d beats and %d questions in 100 s, want about 20 and none", b, d)
		}
		leaveAll(r, posts)
		members, err := s.Members(t.Context(), "queue-7")
		if err != nil || len(members) != 0 {
			t.Errorf("members %v, %v after all have left", members, err)
		}
	})
}

func TestRoster_JoinsAgainWhenTheStoreHasLostIt(t *testing.T) {
	withRoster(t, func(t *testing.T, s *beats, r *Roster) {
		posts := []*post{quietPost("q", "a"), quietPost("q", "b")}
		for _, p := range posts {
			r.join(p)
		}
		pass(time.Minute)
		s.forget.Store(true)
		pass(2 * beatPeriod)
		members, err := s.Members(t.Context(), "q")
		if err != nil || len(members) != 2 {
			t.Errorf("members %v, %v, want both again", members, err)
		}
		for _, p := range posts {
			if d := p.duties.Load(); d.Index < 0 || d.Consumers != 2 {
				t.Errorf("duties of %s: %+v, want one of 2", p.member.Consumer, d)
			}
		}
		leaveAll(r, posts)
	})
}

// Consumers that the store loses during their trial are known again with the next beat.
func TestRoster_OnTrialIsReportedAgainWhenTheStoreHasLostIt(t *testing.T) {
	withRoster(t, func(t *testing.T, s *beats, r *Roster) {
		posts := []*post{quietPost("q", "a"), quietPost("q", "b")}
		for _, p := range posts {
			r.join(p)
		}
		pass(time.Second)
		s.forget.Store(true)
		pass(2 * beatPeriod)
		members, err := s.Members(t.Context(), "q")
		if err != nil || len(members) != 2 || !members[0].Trial || !members[1].Trial {
			t.Errorf("members %+v, %v, want both again, on trial", members, err)
		}
		leaveAll(r, posts)
	})
}

func TestRoster_ReadsDutiesUntilItHasThem(t *testing.T) {
	withRoster(t, func(t *testing.T, s *beats, r *Roster) {
		p := quietPost("q", "a")
		var changes atomic.Int64
		p.changed = func() { changes.Add(1) }
		r.join(p)
		pass(time.Minute)
		before := changes.Load()
		if _, err := s.Beat(t.Context(), store.BeatRequest{Client: "other", TTL: store.MaxLease, Join: []store.Member{{Queue: "q", Consumer: "z"}}}); err != nil {
			t.Fatal(err)
		}
		s.refuse.Store(true)
		pass(4 * beatPeriod)
		s.refuse.Store(false)
		pass(2 * beatPeriod)
		if d := p.duties.Load(); d.Consumers != 2 || changes.Load() != before+1 {
			t.Errorf("duties %+v, %d changes: want those of 2 consumers, once", d, changes.Load()-before)
		}
		leaveAll(r, []*post{p})
	})
}

// A consumer that leaves while a beat is under way is not taken for alive afterwards.
func TestRoster_LeavesBehindABeatThatIsUnderWay(t *testing.T) {
	withRoster(t, func(t *testing.T, s *beats, r *Roster) {
		s.latency.Store(int64(time.Second))
		p := quietPost("q", "a")
		r.join(p)
		pass(500 * time.Millisecond)
		leaveAll(r, []*post{p})
		pass(2 * time.Second)
		members, err := s.Members(t.Context(), "q")
		if err != nil || len(members) != 0 {
			t.Errorf("members %v, %v after the only one has left", members, err)
		}
	})
}

// A roster without consumers makes no call.
func TestRoster_IsSilentWithoutConsumers(t *testing.T) {
	withRoster(t, func(t *testing.T, s *beats, r *Roster) {
		for range 3 {
			p := quietPost("q", "a")
			r.join(p)
			pass(time.Second)
			leaveAll(r, []*post{p})
			before := s.beats.Load()
			pass(time.Minute)
			if n := s.beats.Load() - before; n != 0 {
				t.Errorf("%d beats in a minute without consumers", n)
			}
		}
	})
}
