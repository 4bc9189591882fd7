package consumer

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dueq-dev/dueq/store"
)

const (
	// beatPeriod is the interval of the beats of a client, and the time after which its consumers
	// know that others have joined or left. After beatTTL without a beat they count as gone.
	beatPeriod = 5 * time.Second
	beatTTL    = 15 * time.Second
	// trialFor is how long a consumer lives before it gets duties. A process that crashes sooner, and
	// is started again and again, leaves no consumers behind that are taken for alive.
	trialFor = beatTTL
)

// Roster reports to the store that the consumers of a client are alive, with one beat for all of
// them, and knows their duties. It makes no call while there are no consumers.
type Roster struct {
	store   store.Store
	client  string
	running *sync.WaitGroup
	log     *slog.Logger
	wake    chan struct{} // has an element when a consumer has joined or left

	mu      sync.Mutex
	posts   map[*post]bool
	joining []*post // consumers whose state the next beats report
	leaving []*leave
	beating bool  // run is running
	version int64 // of the last beat
}

// NewRoster returns a roster for a client with a unique name. running counts its goroutine.
func NewRoster(s store.Store, client string, running *sync.WaitGroup, log *slog.Logger) *Roster {
	return &Roster{
		store: s, client: client, running: running, log: log,
		wake: make(chan struct{}, 1), posts: map[*post]bool{},
	}
}

// post is one consumer in a roster.
type post struct {
	member     store.Member
	partitions int
	duties     atomic.Pointer[store.Duties] // nil while they are not known
	changed    func()                       // called when the duties have changed
	pinned     bool                         // it gets no duties, as if its trial never ended

	since  time.Time // when it joined
	proven bool      // its trial is over, and the store knows; guarded by Roster.mu
	stale  bool      // the duties must be read; likewise
}

// leave is a consumer that has left.
type leave struct {
	member store.Member
	known  chan struct{} // closed when the store knows
}

// newPost returns a consumer that can join. changed must not block.
func newPost(queue, consumer string, partitions int, changed func()) *post {
	return &post{member: store.Member{Queue: queue, Consumer: consumer}, partitions: partitions, changed: changed}
}

// join enters a consumer. It does not wait for the store.
func (r *Roster) join(p *post) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.since = time.Now()
	r.posts[p] = true
	r.joining = append(r.joining, p)
	if !r.beating {
		r.beating, r.version = true, 0
		r.running.Go(r.run)
	}
	r.ring()
}

// leave removes a consumer, and waits until the store knows or ctx ends.
func (r *Roster) leave(ctx context.Context, p *post) {
	l := &leave{member: p.member, known: make(chan struct{})}
	r.mu.Lock()
	delete(r.posts, p)
	r.joining = slices.DeleteFunc(r.joining, func(other *post) bool { return other == p })
	r.leaving = append(r.leaving, l)
	r.ring()
	r.mu.Unlock()
	select {
	case <-l.known:
	case <-ctx.Done():
	}
}

func (r *Roster) ring() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// run beats until there are no consumers, and the store has been asked to forget the client.
func (r *Roster) run() {
	for failed := 0; ; {
		request := r.next()
		more, err := r.beat(request)
		failed++
		if err == nil {
			failed = 0
		} else if failed == 1 { // it costs calls, no messages, and the consumers log an outage themselves
			r.log.Debug("dueq: a beat failed; other clients may take the consumers of this one for gone", slog.Any("error", err))
		}
		if request.TTL == 0 && r.ended() {
			return
		}
		switch {
		case err != nil:
			sleep(context.Background(), retryDelay(failed), r.wake)
		case !more:
			sleep(context.Background(), beatPeriod-beatPeriod/8+rand.N(beatPeriod/4), r.wake)
		}
	}
}

// ended reports whether there are still no consumers, after the store was asked to forget the client.
// If it could not be asked, it does so when beatTTL is over.
func (r *Roster) ended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.posts) > 0 {
		return false
	}
	for _, l := range r.leaving {
		close(l.known)
	}
	r.leaving, r.beating = nil, false
	return true
}

// next returns the next beat.
func (r *Roster) next() store.BeatRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.posts) == 0 {
		return store.BeatRequest{Client: r.client}
	}
	r.prove()
	request := store.BeatRequest{Client: r.client, TTL: beatTTL.Milliseconds(), Known: r.version}
	leaving := r.leaving[:min(len(r.leaving), store.MaxBatch)]
	joining := r.joining[:min(len(r.joining), store.MaxBatch-len(leaving))]
	for _, l := range leaving {
		request.Leave = append(request.Leave, l.member)
	}
	for _, p := range joining {
		if p.tried() {
			request.Join = append(request.Join, p.member)
		} else {
			request.Trial = append(request.Trial, p.member)
		}
	}
	return request
}

// beat makes a beat and reads the duties that have changed. It reports whether there is more to do at
// once.
func (r *Roster) beat(request store.BeatRequest) (more bool, err error) {
	timeout := callTimeout
	if request.TTL == 0 {
		timeout = unwind
	}
	ctx, end := context.WithTimeout(context.Background(), timeout)
	defer end()
	result, err := r.store.Beat(ctx, request)
	if err != nil || request.TTL == 0 {
		return false, err
	}
	stale, more := r.noted(request, result)
	return more, r.read(ctx, stale)
}

func (p *post) tried() bool { return !p.pinned && time.Since(p.since) >= trialFor }

// prove makes the consumers join whose trial is over.
func (r *Roster) prove() {
	for p := range r.posts {
		if !p.proven && p.tried() && !slices.Contains(r.joining, p) {
			r.joining = append(r.joining, p)
		}
	}
}

// noted notes the result of a beat. It returns the consumers whose duties must be read, and whether
// others have joined or left that were not part of the beat.
func (r *Roster) noted(request store.BeatRequest, result store.BeatResult) (stale []*post, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := map[store.Member]bool{}
	for _, m := range slices.Concat(request.Trial, request.Join, request.Leave) {
		known[m] = true
	}
	r.leaving = slices.DeleteFunc(r.leaving, func(l *leave) bool {
		if known[l.member] {
			close(l.known)
		}
		return known[l.member]
	})
	for p := range r.posts {
		lost := result.Unknown && !known[p.member]
		p.proven = !lost && (p.proven || slices.Contains(request.Join, p.member))
		if lost && !slices.Contains(r.joining, p) {
			r.joining = append(r.joining, p)
		}
		p.stale = p.stale || known[p.member] || request.Known == 0 || result.More || slices.Contains(result.Changed, p.member.Queue)
		if p.stale && !lost {
			stale = append(stale, p)
		}
	}
	r.joining = slices.DeleteFunc(r.joining, func(p *post) bool { return known[p.member] })
	r.version = result.Version
	return stale, len(r.joining)+len(r.leaving) > 0
}

// read reads the duties of consumers.
func (r *Roster) read(ctx context.Context, stale []*post) error {
	for some := range slices.Chunk(stale, store.MaxBatch) {
		requests := make([]store.DutyRequest, len(some))
		for i, p := range some {
			requests[i] = store.DutyRequest{Queue: p.member.Queue, Consumer: p.member.Consumer, Partitions: p.partitions}
		}
		all, err := r.store.Duties(ctx, requests)
		if err != nil {
			return err
		}
		r.assigned(some, all)
	}
	return nil
}

// assigned notes the duties of consumers. Those that the store has lost join again.
func (r *Roster) assigned(posts []*post, all []store.Duties) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, p := range posts {
		p.stale = false
		if !r.posts[p] {
			continue
		}
		if all[i].Index < 0 && all[i].Consumers < store.MaxRanked {
			p.proven = false // the store has lost it; prove makes it join again
		}
		p.duties.Store(&all[i])
		p.changed()
	}
}
