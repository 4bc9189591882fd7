package redisstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

// keys returns the kinds of all keys of the rig's prefix, of those with a TTL and of those
// without one.
func (r *rig) keys() (expiring, lasting []string) {
	r.t.Helper()
	keys, err := r.rdb.Keys(r.ctx(), r.config.Prefix+":*").Result()
	r.must(err)
	for _, key := range keys {
		if strings.Contains(key, "{.clients}") {
			continue // of no queue
		}
		ttl, err := r.rdb.TTL(r.ctx(), key).Result()
		r.must(err)
		kind := key[strings.LastIndex(key, ":")+1:]
		if ttl < 0 {
			lasting = append(lasting, kind)
		} else {
			r.want("ttl of "+key, ttl > remainsTTL/2 && ttl <= remainsTTL, true)
			expiring = append(expiring, kind)
		}
	}
	slices.Sort(expiring)
	slices.Sort(lasting)
	return expiring, lasting
}

func TestDeleteQueue_LeavesOnlyKeysThatExpire(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	partitions := 2
	r.configure(store.Change{Create: true, Partitions: &partitions})
	for i := range partitions {
		r.p.Index = i
		everything(r)
	}
	r.must(r.DeleteQueue(r.ctx(), "q", store.DeleteRequest{Force: true}))
	expiring, lasting := r.keys()
	r.want("keys that expire", expiring, []string{"calls", "calls", "meta", "side", "side"})
	r.want("keys that stay", lasting, []string(nil))
	for i := range partitions {
		r.p.Index = i
		r.wantClean()
	}
	// A queue that is made again has no TTL.
	r.p.Index = 0
	r.push(r.messages(1, 10)...)
	expiring, lasting = r.keys()
	r.want("keys that expire", expiring, []string{"calls", "side"})
	r.want("keys that stay", lasting, []string{"calls", "dead", "done", "due", "leased", "meta", "msg", "past", "queues", "side"})
	r.wantClean()
}

// Clients that know the settings of the deleted queue do not restore them, whichever key is missing.
func TestDeleteQueue_OldSettingsDoNotComeBack(t *testing.T) {
	t.Parallel()
	partitions, most := 4, int64(99)
	for name, lose := range map[string]func(r *rig) []string{
		"nothing":    func(*rig) []string { return nil },
		"meta":       func(r *rig) []string { return []string{r.metaKey("q")} },
		"partitions": func(r *rig) []string { return []string{r.side(0), r.side(1), r.side(2), r.side(3)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := sharedRig(t)
			r.configure(store.Change{Create: true, Partitions: &partitions, MaxMessages: &most})
			pushes, claims := r.another(), r.another()
			for _, other := range []*rig{pushes, claims} {
				other.push(other.messages(1, 10)...)
			}
			r.must(r.DeleteQueue(r.ctx(), "q", store.DeleteRequest{Force: true}))
			if keys := lose(r); keys != nil {
				for _, key := range keys {
					r.must(r.rdb.Del(r.ctx(), key).Err())
				}
			}
			claim := claims.claimRequest(1)
			claim.Of = partitions
			_, err := claims.Claim(r.ctx(), r.p, claim)
			r.want("claim", errors.Is(err, store.ErrNotFound), true)
			_, err = claims.Configure(r.ctx(), "q", store.Change{MaxMessages: &most})
			r.want("change", errors.Is(err, store.ErrNotFound), true)
			pushes.push(pushes.messages(1, 10)...)
			r.want("settings", r.configure(store.Change{}), defaultSettings().Settings)
			r.want("sent", r.stats().Counters.Sent, 1)
			r.wantClean()
		})
	}
}

// Settings that no server has confirmed for a long time are not written where they are missing: the
// queue may have been deleted, and the keys that say so may have expired.
func TestPush_SettingsOfLongAgoAreNotRestored(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	partitions := 1
	most := int64(7)
	r.configure(store.Change{Create: true, Partitions: &partitions, MaxMessages: &most})
	r.push(r.messages(1, 10)...)
	r.recall("q").confirmed.Add(-int64(remembered))
	lost, _ := r.rdb.Keys(r.ctx(), r.config.Prefix+":*").Result()
	r.must(r.rdb.Del(r.ctx(), lost...).Err())
	r.push(r.messages(1, 10)...)
	r.want("settings", r.configure(store.Change{}), defaultSettings().Settings)
}

// Calls that were sent before the deletion, and arrive after it, do nothing.
func TestDeleteQueue_LateCallsDoNothing(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.push(r.messages(3, 10)...)
	late := r.another() // it sends the calls of the first client
	late.push(late.messages(1, 10)...)
	version := sequence(uint64(late.recall("q").Version))[20-13:]
	first := r.purgeRequest(store.Ready, 1)
	_, err := r.Purge(r.ctx(), r.p, first)
	r.must(err)
	_, err = r.Purge(r.ctx(), r.p, r.purgeRequest(store.Ready, 1))
	r.must(err)
	request := late.request(late.messages(1, 10))
	request.Producer = "late"
	for _, when := range []string{"deleted", "made again"} {
		if when == "deleted" {
			r.must(r.DeleteQueue(r.ctx(), "q", store.DeleteRequest{Force: true}))
		} else {
			r.push(r.messages(1, 10)...)
		}
		args := late.pushArgs(r.p, request)
		args[pushVersion] = version
		got, err := r.run(r.ctx(), call{op: "push", queue: "q", script: r.scripts["push"], keys: r.partitionKeys(r.p, 6), args: args})
		r.must(err)
		_, refused, err := otherSettings(got)
		r.must(err)
		r.want("push, "+when, refused, true)
		claim := call{op: "claim", queue: "q", script: r.scripts["claim"], keys: r.partitionKeys(r.p, allKeys), flat: true}
		claim.args = claimArgs(late.claimRequest(1), firstTry, version)
		got, err = r.run(r.ctx(), claim)
		r.must(err)
		r.want("claim, "+when, got.([]string)[0], claimRefused)
	}
	result, err := r.Purge(r.ctx(), r.p, first)
	r.must(err)
	r.want("a purge with an old number", result.Stale, true)
	r.want("ready", r.stats().Ready, 1)
}

// A push waits for a deletion, but not forever when the process that deletes has ended.
func TestPush_WaitsForADeletionUntilItIsGivenUp(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	most := int64(7)
	r.configure(store.Change{Create: true, MaxMessages: &most})
	r.push(r.messages(1, 10)...)
	base, _, err := r.latest(r.ctx(), "test", "q")
	r.must(err)
	span := optional(pointerTo(deletingFor.Milliseconds()))
	marked, _, err := r.write(r.ctx(), "test", "q", base, 0, store.Change{}, span)
	r.must(err)
	_, err = r.spread(r.ctx(), "q", marked)
	r.must(err)
	for _, other := range []*rig{r, r.another()} {
		ctx, end := context.WithTimeout(r.ctx(), time.Second)
		_, err = other.Push(ctx, r.p, other.request(other.messages(1, 10)))
		end()
		r.want("push", errors.Is(err, store.ErrUnavailable) && errors.Is(err, errDeleting), true)
	}
	r.want("what is there is delivered", len(r.claim(5)), 1)
	r.must(r.rdb.HSet(r.ctx(), r.metaKey("q"), "deleting", "1").Err())
	r.push(r.messages(1, 10)...)
	r.want("settings", r.configure(store.Change{}).MaxMessages, 7)
	r.want("sent", r.stats().Counters.Sent, 2)
	r.wantClean()
}

// breaking is a hook that refuses all commands after the first n, as if the process had ended. Its
// error is one that is not retried.
type breaking struct{ left atomic.Int64 }

func (b *breaking) DialHook(next redis.DialHook) redis.DialHook { return next }

func (b *breaking) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if b.left.Add(-1) < 0 {
			cmd.SetErr(redis.ErrClosed)
			return redis.ErrClosed
		}
		return next(ctx, cmd)
	}
}

func (b *breaking) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if b.left.Add(-1) < 0 {
			for _, cmd := range cmds {
				cmd.SetErr(redis.ErrClosed)
			}
			return redis.ErrClosed
		}
		return next(ctx, cmds)
	}
}

// A deletion that was interrupted after any of its calls can be repeated, or the queue can be used
// again.
func TestDeleteQueue_InterruptedAnywhere(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		force, goOn, ahead := i&1 != 0, i&2 != 0, i&4 != 0
		for calls := int64(1); ; calls++ {
			if deletionEnded(t, calls, force, goOn, ahead) {
				t.Logf("force %v: %d calls", force, calls)
				break
			}
		}
	}
}

// setAhead gives the settings of a queue a version that is an hour ahead, as if the clock had
// been set back since they were changed: later versions are not instants then.
func (r *rig) setAhead(partitions int) {
	r.t.Helper()
	version := time.Now().Add(time.Hour).UnixMilli()
	keys := []string{r.metaKey("q")}
	for i := range partitions {
		keys = append(keys, r.partitionKeys(store.Partition{Queue: "q", Index: i}, allKeys)[0])
	}
	for _, key := range keys {
		r.must(r.rdb.HSet(r.ctx(), key, "version", version).Err())
	}
}

// deletionEnded interrupts a deletion after n calls, and reports whether it had ended before.
func deletionEnded(t *testing.T, calls int64, force, goOn, ahead bool) bool {
	t.Helper()
	r := sharedRig(t)
	partitions, most := 2, int64(9)
	r.configure(store.Change{Create: true, Partitions: &partitions, MaxMessages: &most})
	r.push(r.messages(1, 10)...)
	if !force {
		r.settle(store.Ack, r.claim(1)...)
	}
	if ahead {
		r.setAhead(partitions)
	}
	hook := &breaking{}
	hook.left.Store(1 << 40)
	rdb := redistest.Shared(t).Client(t)
	rdb.AddHook(hook)
	broken := newRigWith(t, rdb, r.config)
	broken.stats() // it has inspected the server
	hook.left.Store(calls)
	err := broken.DeleteQueue(t.Context(), "q", store.DeleteRequest{Force: force})
	if err == nil {
		return true
	}
	r.want("broken off", errors.Is(err, store.ErrClosed), true)
	if !goOn {
		if err := r.DeleteQueue(r.ctx(), "q", store.DeleteRequest{Force: force}); err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("repeated, after %d calls of the first: %v", calls, err)
		}
		_, lasting := r.keys()
		r.want("keys that stay", lasting, []string(nil))
		return false
	}
	if r.rdb.HGet(r.ctx(), r.metaKey("q"), "deleting").Val() > "1" {
		r.must(r.rdb.HSet(r.ctx(), r.metaKey("q"), "deleting", "1").Err()) // it began long ago
	}
	before, _, err := r.latest(r.ctx(), "test", "q")
	r.must(err)
	gone := before.gone()
	number := r.number
	r = r.another()
	r.number = number
	for i := range partitions {
		if r.p.Index = i; i == 0 || !gone {
			r.push(r.messages(1, 10)...)
		}
	}
	r.p.Index = 0
	if want := map[bool]int64{true: 0, false: 9}[gone]; r.configure(store.Change{}).MaxMessages != want {
		t.Fatalf("after %d calls: limit %d, want %d", calls, r.configure(store.Change{}).MaxMessages, want)
	}
	if st := r.stats(); st.Ready < 1 {
		t.Fatalf("after %d calls: %+v", calls, st)
	}
	r.wantClean()
	return false
}

// interrupting is a hook that calls a function before one of the commands.
type interrupting struct {
	left atomic.Int64
	do   func()
}

func (i *interrupting) pass() {
	if i.left.Add(-1) == 0 {
		i.do()
	}
}

func (i *interrupting) DialHook(next redis.DialHook) redis.DialHook { return next }

func (i *interrupting) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		i.pass()
		return next(ctx, cmd)
	}
}

func (i *interrupting) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		i.pass()
		return next(ctx, cmds)
	}
}

// A message that is sent during a deletion without force is stored afterwards, at whatever moment it
// is sent: in the queue, which then is not deleted, or in a new one.
func TestDeleteQueue_MessageSentMeanwhile(t *testing.T) {
	t.Parallel()
	refused := 0
	for calls := int64(1); ; calls++ {
		interrupted, err := sendDuringDeletion(t, calls)
		if !interrupted {
			t.Logf("%d calls, refused after %d of them", calls-1, refused)
			break
		}
		if err != nil {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no deletion was refused")
	}
}

// sendDuringDeletion deletes a queue of two partitions, and sends a message to the second before the
// n-th command of the deletion.
func sendDuringDeletion(t *testing.T, n int64) (interrupted bool, deleted error) {
	t.Helper()
	r := sharedRig(t)
	partitions := 2
	r.configure(store.Change{Create: true, Partitions: &partitions})
	r.push(r.messages(1, 10)...)
	r.settle(store.Ack, r.claim(1)...)
	sender := r.another()
	sender.p.Index = 1
	stored := false
	hook := &interrupting{do: func() {
		interrupted = true
		ctx, end := context.WithTimeout(r.ctx(), 20*time.Millisecond) // it waits while the deletion refuses pushes
		defer end()
		_, err := sender.Push(ctx, sender.p, sender.request(sender.messages(1, 10)))
		stored = err == nil
	}}
	rdb := redistest.Shared(t).Client(t)
	rdb.AddHook(hook)
	deleting := newRigWith(t, rdb, r.config)
	deleting.stats() // it has inspected the server
	hook.left.Store(n)
	deleted = deleting.DeleteQueue(t.Context(), "q", store.DeleteRequest{Force: false})
	if deleted != nil && !errors.Is(deleted, store.ErrNotEmpty) {
		t.Fatalf("call %d: %v", n, deleted)
	}
	if !stored {
		return interrupted, deleted
	}
	after := r.another()
	st := after.stats()
	sent := map[bool]int64{true: 1, false: 2}[deleted == nil]
	if st.Ready != 1 || st.Counters.Sent != sent {
		t.Fatalf("call %d: deleted: %v; %+v, want 1 ready and %d sent", n, deleted, st, sent)
	}
	if until := after.rdb.HGet(r.ctx(), r.metaKey("q"), "deleting").Val(); until != "" && until != "0" {
		t.Fatalf("call %d: deleted: %v; sends wait until %s", n, deleted, until)
	}
	for i := range partitions {
		after.p.Index = i
		after.wantClean()
	}
	return interrupted, deleted
}

// When one of the servers of a queue does not answer, the deletion returns an error, and succeeds
// when it is repeated.
func TestDeleteQueue_OneMasterOfAClusterHangs(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3)
	rdb := redistest.ClusterClient(t, nodes)
	r := newRig(t, rdb)
	partitions := 6
	r.configure(store.Change{Create: true, Partitions: &partitions})
	home, err := rdb.MasterForKey(r.ctx(), r.metaKey("q"))
	r.must(err)
	away := slices.IndexFunc(nodes, func(n *redistest.Server) bool { return n.Addr() != home.Options().Addr })
	r.must(nodes[away].Freeze())
	ctx, end := context.WithTimeout(r.ctx(), time.Second)
	err = r.DeleteQueue(ctx, "q", store.DeleteRequest{Force: false})
	end()
	r.want("while one hangs", errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded), true)
	r.must(nodes[away].Thaw())
	r.must(r.DeleteQueue(r.ctx(), "q", store.DeleteRequest{Force: false}))
	for _, n := range nodes {
		for _, key := range n.Client(t).Keys(r.ctx(), "*").Val() {
			r.want("ttl of "+key, n.Client(t).TTL(r.ctx(), key).Val() > 0, true)
		}
	}
}
