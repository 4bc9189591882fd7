package redisstore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq/store"
)

// A key finds the last of its dead messages, or of its done ones, by the server's clock, also when the
// clock has been set back since.
func TestKeys_LastByTheClockWhenItWasSetBack(t *testing.T) {
	t.Parallel()
	for state, verdict := range map[store.State]store.Verdict{store.Dead: store.Reject, store.Done: store.Ack} {
		r := sharedRig(t)
		history := int64(86_400_000)
		r.configure(store.Change{Create: true, History: &history})
		end := func() store.ID {
			m := r.messages(1, 10)
			m[0].Key = "k"
			r.push(m...)
			r.settle(verdict, r.claim(1)...)
			return m[0].ID
		}
		last := end()
		// As if it had ended when the clock was an hour ahead.
		r.must(r.rdb.ZIncrBy(r.ctx(), r.key(string(state)), 3_600_000, last.String()).Err())
		first, second := end(), end()
		for _, want := range []store.ID{last, second, first} {
			rec, err := r.Get(r.ctx(), r.p, store.Ref{Key: "k"})
			r.must(err)
			r.want("found", rec.ID, want)
			purge := store.PurgeRequest{Caller: "m", Number: r.next(), State: state, IDs: []store.ID{want}, Limit: 1}
			result, err := r.Purge(r.ctx(), r.p, purge)
			r.must(err)
			r.want("purged", result.Removed, 1)
		}
		r.wantClean()
	}
}

func TestHistory_LongBodyIsLeftOutAndItsSizeKept(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	history, most := int64(3_600_000), 4*keptBody
	r.configure(store.Change{Create: true, History: &history, MaxBody: &most})
	for _, size := range []int{keptBody, keptBody + 1} {
		ms := r.messages(1, size)
		r.push(ms...)
		r.settle(store.Ack, r.claim(1)...)
		rec, err := r.Get(r.ctx(), r.p, store.Ref{ID: ms[0].ID})
		r.must(err)
		kept := map[bool]int{true: size, false: 0}[size <= keptBody]
		r.want("state, bytes, bytes kept", []any{rec.State, rec.BodySize, len(rec.Body)}, []any{store.Done, size, kept})
	}
	r.wantClean()
}

// The script checks for messages itself, whatever its caller has counted. The partition that it
// leaves has a later version: a push with the version of the deletion finds no partition.
func TestDeletePartition_RefusesMessages(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.push(r.messages(1, 10)...)
	settings, _, err := r.latest(r.ctx(), "test", "q")
	r.must(err)
	remove := func(version int64, force string) any {
		got, err := r.run(r.ctx(), call{
			op: "test", queue: "q", script: r.scripts["deletepartition"], keys: r.partitionKeys(r.p, allKeys),
			args: []any{r.eventsChannel(r.p), wakeEvent(r.p), version, force, 60},
		})
		r.must(err)
		return got
	}
	r.want("with a message", remove(settings.Version, "0"), 1)
	r.want("of another version", remove(settings.Version-1, "1"), 2)
	r.want("ready", r.stats().Ready, 1)
	r.want("by force", remove(settings.Version, "1"), 0)
	r.want("again", remove(settings.Version, "1"), 0)
	left := r.rdb.HMGet(r.ctx(), r.key("side"), "layout", "version").Val()
	r.want("layout and version of what is left", left, []any{nil, settings.Version + 1})
}

// No name of a queue leads to the keys of another queue or of all queues, and each key has a hash
// tag, or a Cluster would put the keys of a partition into different slots.
func FuzzKeys(f *testing.F) {
	for _, name := range []string{"work", "work:0", "a}:meta{b", "{}", "}", "*", "q:ready", "queues", ".clients", "a\n", "é"} {
		f.Add(name, "work", uint8(0), uint8(1))
	}
	s := &Store{config: Config{Prefix: "dueq"}}
	f.Fuzz(func(t *testing.T, one, other string, i, j uint8) {
		if store.ValidateQueue(one) != nil || store.ValidateQueue(other) != nil {
			return
		}
		owners := map[string]string{}
		own := func(owner string, keys ...string) {
			for _, key := range keys {
				if by, taken := owners[key]; taken && by != owner {
					t.Fatalf("%q is a key of %s and of %s", key, owner, by)
				}
				owners[key] = owner
			}
		}
		all := s.clientsKeys()
		own("all queues", s.queuesKey(), all.beats, all.members, all.byClient, all.changes, all.duties, all.trials)
		for _, queue := range []string{one, other} {
			own("the queue "+queue, s.metaKey(queue))
			for _, index := range []uint8{i, j} {
				keys := s.partitionKeys(store.Partition{Queue: queue, Index: int(index)}, allKeys)
				own(fmt.Sprintf("partition %d of %s", index, queue), keys...)
				tag, _, ok := strings.Cut(strings.TrimPrefix(keys[0], "dueq:{"), "}")
				if !ok || tag != fmt.Sprintf("%s:%d", queue, index) {
					t.Fatalf("%q has the hash tag %q", keys[0], tag)
				}
			}
		}
	})
}
