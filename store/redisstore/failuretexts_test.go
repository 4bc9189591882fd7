package redisstore

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/storetest"
)

// failureTextSteps are the operations that copy failure texts, on a partition with 500 messages that
// have as many and as long ones as a message keeps. Each makes the partition, and returns the function
// to be measured.
func failureTextSteps(r *rig) map[string]func() func() error {
	long := strings.Repeat("ü", store.MaxFailure/2)
	var ds []store.Delivery
	failed := func(v store.Verdict, change func(*store.Settlement)) error {
		items := settlements(ds)
		for i := range items {
			items[i].Failure = long
			if change != nil {
				change(&items[i])
			}
		}
		codes, err := r.Settle(r.ctx(), r.p, store.SettleRequest{Verdict: v, Items: items})
		for _, code := range codes {
			r.want(string(v), code, store.CodeOK)
		}
		return err
	}
	claim := func() {
		ds = r.claim(store.MaxBatch)
		r.want("claimed", len(ds), store.MaxBatch)
	}
	fillWith := func(change func(i int, m *store.Message)) {
		r.must(r.rdb.FlushAll(r.ctx()).Err())
		ms := r.messages(store.MaxBatch, 100)
		for i := range ms {
			change(i, &ms[i])
		}
		r.push(ms...)
		for range store.MaxRecentFailures {
			claim()
			r.must(failed(store.Nack, nil))
		}
	}
	fill := func() { fillWith(func(int, *store.Message) {}) }
	lease := func() { fill(); claim() }
	settled := func(v store.Verdict) func() func() error {
		return func() func() error { lease(); return func() error { return failed(v, nil) } }
	}
	return map[string]func() func() error{
		"nack":   settled(store.Nack),
		"snooze": settled(store.Snooze),
		"reject": settled(store.Reject),
		"first nack": func() func() error {
			r.must(r.rdb.FlushAll(r.ctx()).Err())
			r.push(r.messages(store.MaxBatch, 100)...)
			claim()
			return func() error { return failed(store.Nack, nil) }
		},
		"reject of recurring ones": func() func() error {
			const schedule = "cron 0 3 * * *"
			fillWith(func(i int, m *store.Message) { m.Key, m.Repeat = strconv.Itoa(i), schedule })
			claim()
			now, err := r.Now(r.ctx(), r.p)
			r.must(err)
			return func() error {
				return failed(store.Reject, func(item *store.Settlement) {
					item.Next = &store.Occurrence{Due: now + 3600_000, Repeat: schedule}
					item.Letter = route.FollowingID(item.Receipt.ID, int64(item.Receipt.Attempt), -1, r.p.Index)
				})
			}
		},
		"claim that sweeps": func() func() error {
			lease()
			r.settle(storetest.Start, ds...)
			expireAll(r)
			return func() error { r.claim(store.MaxBatch); return nil }
		},
		"audit of side": func() func() error { fill(); return func() error { return auditPart(r, "side") } },
		"ack":           func() func() error { lease(); return func() error { r.settle(store.Ack, ds...); return nil } },
		"ack with a history": func() func() error {
			lease()
			keepDone(r)
			return func() error { r.settle(store.Ack, ds...); return nil }
		},
		"purge": func() func() error {
			fill()
			return func() error {
				_, err := r.Purge(r.ctx(), r.p, r.purgeRequest(store.Ready, store.MaxBatch))
				return err
			}
		},
		"redrive": func() func() error {
			lease()
			r.must(failed(store.Reject, nil))
			return func() error {
				var ids []store.ID
				for i := range ds {
					ids = append(ids, ds[i].Receipt.ID)
				}
				_, err := r.Redrive(r.ctx(), r.p, r.redriveRequest(ids...))
				return err
			}
		},
	}
}

// TestSettle_LongFailureTextsDoNotBlockOthers checks how much one call of a script writes or moves of
// failure texts: 448 KiB, where 2 KiB are counted for those that a message has already, or the texts
// of 250 messages. BenchmarkScripts_FailureTexts measures the time.
func TestSettle_LongFailureTextsDoNotBlockOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Start(t).Client(t))
	const kept = 2 << 10
	steps := failureTextSteps(r)
	for name, most := range map[string]int{
		"first nack":               448 << 10 / store.MaxFailure,
		"nack":                     448 << 10 / (store.MaxFailure + kept),
		"snooze":                   448 << 10 / (store.MaxFailure + kept),
		"reject":                   448 << 10 / (store.MaxFailure + kept),
		"reject of recurring ones": 448 << 10 / (store.MaxFailure + kept),
		"ack with a history":       250,
	} {
		runs := scriptsRun(r, steps[name]())
		runs = slices.DeleteFunc(runs, func(s scriptRun) bool { return s.calls == 0 }) // the server did not have the script
		if want := (store.MaxBatch + most - 1) / most; len(runs) != want {
			t.Errorf("%s: %d calls for %d messages, want %d", name, len(runs), store.MaxBatch, want)
		}
		if name == "ack with a history" {
			r.want("done", r.stats().Done, store.MaxBatch)
			continue
		}
		for _, text := range r.texts(name) {
			r.want(name+": bytes of the newest text", len(text), store.MaxFailure)
		}
	}
	r.must(r.rdb.FlushAll(r.ctx()).Err())
	r.push(r.messages(store.MaxBatch, 100)...)
	for range 2 {
		items := settlements(r.claim(store.MaxBatch))
		r.want("calls without texts", len(scriptsRun(r, func() error {
			_, err := r.Settle(r.ctx(), r.p, store.SettleRequest{Verdict: store.Nack, Items: items})
			return err
		})), 1)
	}
}

// texts returns the newest failure text of each message of the partition.
func (r *rig) texts(name string) (all []string) {
	r.t.Helper()
	for _, state := range []store.State{store.Scheduled, store.Ready, store.Dead} {
		for cursor := ""; ; {
			page, err := r.List(r.ctx(), r.p, store.ListRequest{State: state, Limit: store.MaxListLimit, Cursor: cursor})
			r.must(err)
			for _, rec := range page.Records {
				if rec.Repeat == "" {
					all = append(all, rec.LastFailure)
				}
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
	}
	r.want(name+": messages with a text", len(all), store.MaxBatch)
	return all
}

func BenchmarkScripts_FailureTexts(b *testing.B) {
	r := newRig(b, redistest.Start(b).Client(b))
	steps := failureTextSteps(r)
	for _, name := range slices.Sorted(maps.Keys(steps)) {
		b.Run(name, func(b *testing.B) {
			least := unknownStrain
			for b.Loop() {
				least.add(r, steps[name]())
			}
			least.report(b, strainBound)
		})
	}
}
