package redisstore

import (
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
