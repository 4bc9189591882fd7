package redisstore

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

const keptBody = 256 << 10 // the longest body that a done message keeps

// largeSizes are the sizes of the bodies that largeSteps are run with.
var largeSizes = []int{4 << 10, store.DefaultMaxBody, store.MaxBody}

// largeCount returns how many messages of a size largeSteps are run with: 5 MiB of them, or three.
func largeCount(size int) int { return min(300, max(5<<20/size, 3)) }

// largeSteps are the operations that copy records, on a partition with n records of size bytes. Each
// makes the partition, and returns the function to be measured.
func largeSteps(r *rig, n, size int) map[string]func() func() error {
	var ms []store.Message
	var ds []store.Delivery
	fill := func() {
		r.must(r.rdb.FlushAll(r.ctx()).Err())
		ms = r.messages(n, size)
		for i := range ms {
			ms[i].Key = "k" + strconv.Itoa(i)
		}
		for batch := range slices.Chunk(ms, max(1, store.MaxBatchBytes/(size+recordHead))) {
			r.push(batch...)
		}
	}
	lease := func() {
		fill()
		for ds = nil; len(ds) < n; {
			ds = append(ds, r.claim(store.MaxBatch)...)
		}
	}
	settled := func(v store.Verdict) func() func() error {
		return func() func() error { lease(); return func() error { r.settle(v, ds...); return nil } }
	}
	ids := func() (ids []store.ID, refs []store.Ref) {
		for i := range ms {
			ids, refs = append(ids, ms[i].ID), append(refs, store.Ref{ID: ms[i].ID})
		}
		return ids, refs
	}
	purge := func(s store.State) error {
		_, err := r.Purge(r.ctx(), r.p, r.purgeRequest(s, store.MaxBatch))
		return err
	}
	audit := func(part string) func() func() error {
		return func() func() error {
			fill()
			return func() error { return auditPart(r, part) }
		}
	}
	return map[string]func() func() error{
		"claim":        func() func() error { fill(); return func() error { r.claim(store.MaxBatch); return nil } },
		"nack":         settled(store.Nack),
		"ack":          settled(store.Ack),
		"reject":       settled(store.Reject),
		"audit of due": audit("due"), "audit of msg": audit("msg"), "audit of side": audit("side"),
		"claim that sweeps": func() func() error {
			lease()
			expireAll(r)
			return func() error { ds = r.claim(store.MaxBatch); return nil }
		},
		"list": func() func() error {
			fill()
			return func() error {
				_, err := r.List(r.ctx(), r.p, store.ListRequest{State: store.Ready, Limit: store.MaxListLimit, BodyLimit: 100})
				return err
			}
		},
		"get": func() func() error {
			fill()
			return func() error { _, err := r.Get(r.ctx(), r.p, store.Ref{ID: ms[0].ID}); return err }
		},
		"cancel": func() func() error {
			fill()
			_, refs := ids()
			return func() error { _, err := r.Cancel(r.ctx(), r.p, r.cancelRequest(refs...)); return err }
		},
		"purge": func() func() error { fill(); return func() error { return purge(store.Ready) } },
		"redrive": func() func() error {
			lease()
			r.settle(store.Reject, ds...)
			return func() error {
				all, _ := ids()
				_, err := r.Redrive(r.ctx(), r.p, r.redriveRequest(all...))
				return err
			}
		},
		"claim that removes the dead": func() func() error {
			lease()
			r.settle(store.Reject, ds...)
			most := int64(1)
			_, err := r.Configure(r.ctx(), r.p.Queue, store.Change{MaxDead: &most})
			r.must(err)
			return func() error {
				r.claim(store.MaxBatch)
				r.want("dead", r.stats().Dead, 1)
				return nil
			}
		},
		"ack with a history": func() func() error {
			lease()
			keepDone(r)
			return func() error { r.settle(store.Ack, ds...); return nil }
		},
		"claim that removes the done": func() func() error {
			lease()
			keepDone(r)
			r.settle(store.Ack, ds...)
			most := int64(1)
			_, err := r.Configure(r.ctx(), r.p.Queue, store.Change{MaxHistory: &most})
			r.must(err)
			return func() error {
				r.claim(store.MaxBatch)
				r.want("done", r.stats().Done, 1)
				return nil
			}
		},
		"cancel with a history": func() func() error {
			fill()
			keepDone(r)
			_, refs := ids()
			return func() error { _, err := r.Cancel(r.ctx(), r.p, r.cancelRequest(refs...)); return err }
		},
		"list of the done": func() func() error {
			lease()
			keepDone(r)
			r.settle(store.Ack, ds...)
			return func() error {
				_, err := r.List(r.ctx(), r.p, store.ListRequest{State: store.Done, Limit: store.MaxListLimit, BodyLimit: 100})
				return err
			}
		},
		"audit of past": func() func() error {
			lease()
			keepDone(r)
			r.settle(store.Ack, ds...)
			return func() error { return auditPart(r, "past") }
		},
		"purge of the dead": func() func() error {
			lease()
			r.settle(store.Reject, ds...)
			return func() error { return purge(store.Dead) }
		},
		"push of ids that others have": func() func() error {
			fill()
			return func() error {
				again := r.messages(n, 10)
				for i := range again {
					again[i].ID, again[i].New = ms[i].ID, false
				}
				results, err := r.Push(r.ctx(), r.p, r.request(again))
				r.want("code", results[0].Code, store.CodeConflict)
				return err
			}
		},
		"push with replace": func() func() error {
			fill()
			return func() error {
				again := r.messages(n, 10)
				for i := range again {
					again[i].Key, again[i].Replace, again[i].New = ms[i].Key, true, false
				}
				r.push(again...)
				return nil
			}
		},
	}
}

// keepDone makes the queue keep all messages that end. It sets the number too, because settings
// survive FLUSHALL: the client restores those that it knows.
func keepDone(r *rig) {
	r.t.Helper()
	span, most := int64(3600_000), int64(0)
	_, err := r.Configure(r.ctx(), r.p.Queue, store.Change{History: &span, MaxHistory: &most})
	r.must(err)
}

// auditPart runs an audit of one part of a partition.
func auditPart(r *rig, part string) error {
	for cursor := part + ":0.0"; strings.HasPrefix(cursor, part); {
		step, err := r.Check(r.ctx(), r.p, store.CheckRequest{Cursor: cursor, Limit: store.MaxListLimit})
		if err != nil {
			return err
		}
		r.want("problems", step.Problems, []store.Problem(nil))
		cursor = step.Next
	}
	return nil
}

// expireAll ends every lease of the partition.
func expireAll(r *rig) {
	r.t.Helper()
	leases, err := r.rdb.ZRange(r.ctx(), r.key("leased"), 0, -1).Result()
	r.must(err)
	for _, receipt := range leases {
		if receipt != "" && receipt[0] != '=' {
			r.must(r.rdb.ZAddXX(r.ctx(), r.key("leased"), redis.Z{Score: 1, Member: receipt}).Err())
		}
	}
}

// TestScripts_LargeRecordsDoNotBlockOthers checks that a script reads at most one record, or 1.25 MiB
// of them: copying records is what takes the server's time. Done messages keep no body of more than
// 256 KiB, so a script may read five of them. BenchmarkScripts_LargeRecords measures the time.
func TestScripts_LargeRecordsDoNotBlockOthers(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	for _, size := range largeSizes {
		r := newRig(t, redistest.Start(t).Client(t))
		for name, ready := range largeSteps(r, largeCount(size), size) {
			most := max(1, store.MaxBatchBytes*5/4/size)
			if strings.HasSuffix(name, "the done") {
				most = max(most, store.MaxBatchBytes*5/4/keptBody)
			}
			for _, run := range scriptsRun(r, ready()) {
				if run.records > most {
					t.Errorf("%s of %d bytes: one call read %d records, want at most %d", name, size, run.records, most)
				}
			}
		}
	}
}

func TestClaim_EmptyPartitionForgetsThatRecordsWereLong(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	longest := func() string { return r.rdb.HGet(r.ctx(), r.key("side"), "largest").Val() }
	r.push(r.messages(1, 2000)...)
	r.want("after short records", longest(), "")
	r.push(r.messages(1, 5000)...)
	r.push(r.messages(1, 3000)...)
	r.want("after a record of 5 kB", longest(), 8192)
	r.settle(store.Ack, r.claim(1)...)
	r.want("while some are left", longest(), 8192)
	r.settle(store.Ack, r.claim(2)...)
	r.claim(1)
	r.want("when the partition is empty", longest(), "")
	r.wantClean()
}

// A script reads several records at a time only if they are known to be short, so a record that a
// new body has made longer must be known.
func TestAgain_NotesHowLongTheNewRecordIs(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Start(t).Client(t))
	r.push(r.messages(1, 10)...)
	d := r.claim(1)[0]
	const size = 5000
	item := store.Settlement{Receipt: d.Receipt, Next: &store.Occurrence{Body: make([]byte, size), NewBody: true}}
	_, err := r.Settle(r.ctx(), r.p, store.SettleRequest{Verdict: store.Again, Items: []store.Settlement{item}})
	r.must(err)
	noted, err := r.rdb.HGet(r.ctx(), r.key("side"), "largest").Int()
	r.must(err)
	if noted < size {
		t.Errorf("records are noted to have %d bytes at most, one has %d", noted, size)
	}
}
