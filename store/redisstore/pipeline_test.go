package redisstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

// gate is a hook of a client that records the calls to the server, and can block them.
type gate struct {
	mu        sync.Mutex
	direct    []redis.Cmder // single scripts
	pipelines [][]redis.Cmder
	contexts  []context.Context // of the pipelines
	hold      chan struct{}     // nil: nothing is held
	answer    func(cmds []redis.Cmder) error
}

// holdBack blocks every call from now on until open is closed.
func (g *gate) holdBack() (open chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hold = make(chan struct{})
	return g.hold
}

func (g *gate) wait() {
	g.mu.Lock()
	hold := g.hold
	g.mu.Unlock()
	if hold != nil {
		<-hold
	}
}

func (g *gate) sizes() []int {
	g.mu.Lock()
	defer g.mu.Unlock()
	var sizes []int
	for _, cmds := range g.pipelines {
		sizes = append(sizes, len(cmds))
	}
	return sizes
}

func (g *gate) singles() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.direct)
}

// seen returns how many scripts were sent.
func (g *gate) seen() int {
	n := g.singles()
	for _, size := range g.sizes() {
		n += size
	}
	return n
}

func (g *gate) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if _, ok := cmd.(onceCmd); !ok {
			return next(ctx, cmd)
		}
		g.mu.Lock()
		g.direct = append(g.direct, cmd)
		g.mu.Unlock()
		g.wait()
		if g.answer != nil {
			return g.answer([]redis.Cmder{cmd})
		}
		return next(ctx, cmd)
	}
}

func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if _, ok := cmds[0].(onceCmd); !ok { // of a connection's set-up
			return next(ctx, cmds)
		}
		g.mu.Lock()
		g.pipelines = append(g.pipelines, cmds)
		g.contexts = append(g.contexts, ctx)
		g.mu.Unlock()
		g.wait()
		if g.answer != nil {
			return g.answer(cmds)
		}
		return next(ctx, cmds)
	}
}

// gated is a gate without a server behind it: answer answers the calls.
func gated(t *testing.T, answer func(cmds []redis.Cmder) error) (*gate, *pipelines) {
	t.Helper()
	g := &gate{answer: answer}
	rdb := redis.NewClient(&redis.Options{Addr: "192.0.2.1:1"})
	t.Cleanup(func() { _ = rdb.Close() })
	rdb.AddHook(g)
	return g, newPipelines(rdb)
}

func script1(ctx context.Context, arg any) onceCmd {
	return onceCmd{redis.NewCmd(ctx, "evalsha", "sha", 1, "key", arg)}
}

// doEach calls do for each of args in a goroutine of its own, and returns when all calls wait
// for the gate.
func doEach(ctx context.Context, p *pipelines, args ...any) []<-chan error {
	var answers []<-chan error
	for _, arg := range args {
		answer := make(chan error, 1)
		go func() { answer <- p.do(ctx, "sha", "key", script1(ctx, arg)) }()
		synctest.Wait()
		answers = append(answers, answer)
	}
	return answers
}

func numbersTo(n int) []any {
	args := make([]any, n)
	for i := range args {
		args[i] = i
	}
	return args
}

func TestPipeline_ConcurrentCallsShareIt(t *testing.T) {
	t.Parallel()
	large := make([]byte, pipelineBytes)
	half := string(large[:pipelineBytes/2])
	tests := []struct {
		name  string
		args  []any // of the calls in the pipeline
		sizes []int
	}{
		{"few go directly", nil, nil},
		{"one that waited", numbersTo(1), nil},
		{"the rest goes together", numbersTo(5), []int{5}},
		{"limit of calls", numbersTo(pipelineCalls + 2), []int{pipelineCalls, 2}},
		{"limit of bytes", []any{half, half, half, 1}, []int{2}},
		{"a larger one goes alone", []any{1, 2, string(large), 3, 4}, []int{2, 2}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g, p := gated(t, func([]redis.Cmder) error { return nil })
				open := g.holdBack()
				answers := doEach(t.Context(), p, append(numbersTo(directCalls), test.args...)...)
				if g.singles() != directCalls || len(g.pipelines) > 0 {
					t.Errorf("%d direct calls and %d pipelines are under way", g.singles(), len(g.pipelines))
				}
				close(open)
				for _, answer := range answers {
					if err := <-answer; err != nil {
						t.Error(err)
					}
				}
				sizes := g.sizes()
				slices.Sort(sizes)
				slices.Sort(test.sizes)
				if !slices.Equal(sizes, test.sizes) {
					t.Errorf("pipelines of %v, want %v", sizes, test.sizes)
				}
			})
		})
	}
}

func TestPipeline_EachCallHasItsOwnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer := func(cmds []redis.Cmder) error {
			for _, cmd := range cmds {
				if arg := cmd.Args()[4]; arg == 3 {
					cmd.SetErr(errors.New("WRONGTYPE"))
				} else if arg == 4 {
					cmd.SetErr(redis.Nil)
				}
			}
			return cmds[0].Err()
		}
		g, p := gated(t, answer)
		open := g.holdBack()
		answers := doEach(t.Context(), p, numbersTo(directCalls+5)...)
		close(open)
		for i, answer := range answers {
			err := <-answer
			if got, want := fmt.Sprint(err), map[int]string{3: "WRONGTYPE", 4: redis.Nil.Error()}[i]; err != nil && got != want || err == nil && want != "" {
				t.Errorf("call %d: %v, want %q", i, err, want)
			}
		}
	})
}

// A hook may refuse a pipeline without setting the errors of its commands.
func TestPipeline_RefusedFailsAllItsCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("refused")
		g, p := gated(t, func(cmds []redis.Cmder) error {
			if len(cmds) > 1 {
				return refused
			}
			return nil
		})
		open := g.holdBack()
		answers := doEach(t.Context(), p, numbersTo(directCalls+3)...)
		close(open)
		for i, answer := range answers {
			if err := <-answer; (i >= directCalls) != errors.Is(err, refused) {
				t.Errorf("call %d: %v", i, err)
			}
		}
	})
}

func TestPipeline_CallerThatLeavesDoesNotEndItForOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, p := gated(t, func([]redis.Cmder) error { return nil })
		first := g.holdBack()
		direct := doEach(t.Context(), p, numbersTo(directCalls)...)
		early, cancelEarly := context.WithCancel(t.Context())
		late, cancelLate := context.WithCancel(t.Context())
		defer cancelLate()
		withdrawn := doEach(early, p, "a", "b")
		leaver := doEach(late, p, "c")
		stayer := doEach(t.Context(), p, "d")
		cancelEarly()
		for _, answer := range withdrawn {
			if err := <-answer; !errors.Is(err, context.Canceled) {
				t.Errorf("who left in time: %v", err)
			}
		}
		second := g.holdBack()
		close(first)
		for _, answer := range direct {
			if err := <-answer; err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		cancelLate()
		if err := <-leaver[0]; !errors.Is(err, context.Canceled) {
			t.Errorf("who left under way: %v", err)
		}
		if err := g.contexts[0].Err(); err != nil {
			t.Errorf("the pipeline ended with one of its callers: %v", err)
		}
		close(second)
		if err := <-stayer[0]; err != nil {
			t.Errorf("who stayed: %v", err)
		}
		if sizes := g.sizes(); !slices.Equal(sizes, []int{2}) {
			t.Errorf("pipelines of %v, want c and d", sizes)
		}
	})
}

func TestPipeline_IsCancelledWhenAllCallersHaveLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, p := gated(t, func([]redis.Cmder) error { return nil })
		first := g.holdBack()
		direct := doEach(t.Context(), p, numbersTo(directCalls)...)
		ctx, cancel := context.WithCancel(t.Context())
		doEach(ctx, p, "a", "b")
		second := g.holdBack()
		close(first)
		for _, answer := range direct {
			if err := <-answer; err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		if err := g.contexts[0].Err(); !errors.Is(err, context.Canceled) {
			t.Errorf("the pipeline's context: %v", err)
		}
		close(second)
	})
}

// waiting returns how many calls wait until others have returned.
func (p *pipelines) waiting() int {
	n := 0
	p.coalescers.Range(func(_, c any) bool {
		n += c.(*coalescer).Waiting()
		return true
	})
	return n
}

// pushAll makes a push of one message to each of n partitions while calls are blocked, then unblocks
// them, and returns the error of each.
func pushAll(r *rig, g *gate, n int) []error {
	r.t.Helper()
	open := g.holdBack()
	errs := make([]error, n)
	var running sync.WaitGroup
	before := g.seen()
	for i := range n {
		request := r.request(r.messages(1, 10))
		running.Go(func() { _, errs[i] = r.Push(r.ctx(), store.Partition{Queue: "q", Index: i}, request) })
	}
	// A goroutine that made earlier calls may still run and make the first of these calls.
	for g.seen()-before+r.pipelines.waiting() < n {
		runtime.Gosched()
	}
	g.mu.Lock()
	g.hold = nil
	g.mu.Unlock()
	close(open)
	running.Wait()
	return errs
}

func (r *rig) wantSent(n int) {
	r.t.Helper()
	all, err := r.Stats(r.ctx(), "q")
	r.must(err)
	sent := int64(0)
	for i := range all {
		sent += all[i].Counters.Sent
	}
	r.want("sent", sent, n)
}

// withPartitions is a rig whose queue has n partitions, and a gate before its server.
func withPartitions(r *rig, n int) *gate {
	r.t.Helper()
	_, err := r.Configure(r.ctx(), "q", store.Change{Create: true, Partitions: &n})
	r.must(err)
	g := &gate{}
	r.rdb.AddHook(g)
	return g
}

const someCalls = directCalls + 8

// wantGrouped checks that the calls which waited for the direct calls shared one pipeline. It may
// have more calls: one that is repeated, because its reply was lost or the script was missing, can
// join it.
func (r *rig) wantGrouped(g *gate) {
	r.t.Helper()
	if largest := slices.Max(append(g.sizes(), 0)); largest < someCalls-directCalls {
		r.t.Fatalf("the largest pipeline has %d calls, want at least %d", largest, someCalls-directCalls)
	}
}

func TestPipeline_PushesToPartitionsShareIt(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	g := withPartitions(r, someCalls)
	pushAll(r, g, someCalls) // loads the script where it is missing
	g.pipelines = nil
	r.must(errors.Join(pushAll(r, g, someCalls)...))
	r.want("grouped", len(g.pipelines) > 0 && len(g.pipelines) <= directCalls+1, true)
	r.wantSent(2 * someCalls)
}

// TestPipeline_LostReply loses the reply of the first try of every push, those
// that go directly and those that share a pipeline. Each push is repeated, under its own
// number, until it has one answer. A push that is repeated may share a pipeline with the
// first try of another, and lose its reply again.
func TestPipeline_LostReply(t *testing.T) {
	t.Parallel()
	r, p := proxied(t)
	g := withPartitions(r, someCalls)
	tried := map[string]bool{}
	p.loseIf(func(request []byte) bool {
		first := false
		for i := range someCalls {
			key := r.partitionKeys(store.Partition{Queue: "q", Index: i}, 1)[0]
			if !tried[key] && bytes.Contains(request, []byte(key)) {
				tried[key], first = true, true
			}
		}
		return first
	})
	r.must(errors.Join(pushAll(r, g, someCalls)...))
	r.wantGrouped(g)
	lost, answered := map[string]int{}, map[string]int{}
	for _, cmd := range slices.Concat(append(g.pipelines, g.direct)...) {
		key := cmd.Args()[3].(string)
		if cmd.Err() != nil {
			lost[key]++
		} else {
			answered[key]++
		}
	}
	r.want("pushes with a lost reply", len(lost), someCalls)
	r.want("pushes with an answer", len(answered), someCalls)
	for key, n := range answered {
		r.want("answers of "+key, n, 1)
	}
	r.wantSent(someCalls)
}

func TestPipeline_ErrorOfOneCallDoesNotAffectOthers(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	g := withPartitions(r, someCalls)
	broken := someCalls / 2
	r.must(r.rdb.Set(r.ctx(), r.partitionKeys(store.Partition{Queue: "q", Index: broken}, 6)[3], "x", 0).Err())
	for i, err := range pushAll(r, g, someCalls) {
		if (i == broken) != errors.Is(err, store.ErrCorrupt) || i != broken && err != nil {
			t.Errorf("push %d: %v", i, err)
		}
	}
	r.wantGrouped(g)
}

func TestPipeline_EachCallSendsItsScriptAfterAFlush(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Start(t).Client(t))
	g := withPartitions(r, someCalls)
	for range 5 {
		r.must(r.rdb.ScriptFlush(r.ctx()).Err())
		r.must(errors.Join(pushAll(r, g, someCalls)...))
	}
	r.wantGrouped(g)
	r.wantSent(5 * someCalls)
}

// TestPipeline_ScriptsAreFlushedUnderLoad runs many callers, some of which leave early, while the
// scripts of the server are flushed repeatedly.
func TestPipeline_ScriptsAreFlushedUnderLoad(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Start(t).Client(t))
	withPartitions(r, 8)
	var load sync.WaitGroup
	for c := range 32 {
		load.Go(func() {
			p := store.Partition{Queue: "q", Index: c % 8}
			for i := range 50 {
				request := store.PushRequest{Producer: fmt.Sprint("p", c), Number: uint64(i) + 1, Messages: r.messages(1, 10)}
				ctx, cancel := context.WithCancel(r.ctx())
				if i%7 == 3 {
					go cancel()
				}
				_, err := r.Push(ctx, p, request)
				if err != nil && ctx.Err() != nil {
					_, err = r.Push(r.ctx(), p, request) // the same again
				}
				cancel()
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 20 {
		r.must(r.rdb.ScriptFlush(r.ctx()).Err())
	}
	load.Wait()
	r.wantSent(32 * 50)
}

// TestPipeline_EachGoesToOneMasterOfACluster also moves a slot: the pipeline follows it.
func TestPipeline_EachGoesToOneMasterOfACluster(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 2)
	rdb := redistest.ClusterClient(t, nodes)
	r := newRig(t, rdb)
	const partitions = 32
	g := withPartitions(r, partitions)
	send := func() {
		t.Helper()
		var running sync.WaitGroup
		for i := range partitions {
			request := r.request(r.messages(1, 10))
			running.Go(func() {
				if _, err := r.Push(r.ctx(), store.Partition{Queue: "q", Index: i}, request); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
	}
	for range 10 {
		open := g.holdBack()
		before := g.seen()
		go func() {
			for g.seen()-before+r.pipelines.waiting() < partitions {
				runtime.Gosched()
			}
			g.mu.Lock()
			g.hold = nil
			g.mu.Unlock()
			close(open)
		}()
		send()
	}
	if len(g.pipelines) == 0 {
		t.Error("nothing was grouped")
	}
	for _, cmds := range g.pipelines {
		masters := map[string]bool{}
		for _, cmd := range cmds {
			master, err := rdb.MasterForKey(t.Context(), cmd.Args()[3].(string))
			r.must(err)
			masters[master.Options().Addr] = true
		}
		r.want("masters of a pipeline", len(masters), 1)
	}
	redistest.MoveSlot(t, nodes, r.key("msg"))
	send()
	r.wantSent(11 * partitions)
}
