package redisstore

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

const keptBody = 256 << 10 // the longest body that a done message keeps

// readsOfScripts returns how many records each script of fn read, by the output of MONITOR, which
// has the commands of a script before the script itself.
func readsOfScripts(r *rig, fn func() error) []int {
	r.t.Helper()
	r.must(r.rdb.ConfigSet(r.ctx(), "slowlog-log-slower-than", "0").Err())
	r.must(r.rdb.Do(r.ctx(), "SLOWLOG", "RESET").Err())
	r.must(fn())
	entries, err := r.rdb.SlowLogGet(r.ctx(), -1).Result()
	r.must(err)
	r.must(r.rdb.ConfigSet(r.ctx(), "slowlog-log-slower-than", "-1").Err())
	slices.Reverse(entries)
	var all []int
	reads := 0
	for _, e := range entries {
		switch name := strings.ToLower(e.Args[0]); {
		case strings.HasPrefix(name, "eval"):
			all, reads = append(all, reads), 0
		case (name == "hmget" || name == "hget" || name == "hscan") && e.Args[1] == r.key("msg"):
			reads += max(1, len(e.Args)-2)
		case (name == "hmget" || name == "hget") && e.Args[1] == r.key("past") && !strings.Contains(e.Args[2], ":"):
			reads += len(e.Args) - 2 // others are fields of the index by key
		}
	}
	if len(all) == 0 {
		r.t.Fatal("no script has run")
	}
	return all
}

// workOf returns the processor time of the server's main thread for each command that fn
// makes a client send.
func workOf(r *rig, fn func() error) time.Duration {
	r.t.Helper()
	used := func() time.Duration {
		info, err := r.rdb.Info(r.ctx(), "cpu").Result()
		r.must(err)
		fields, total := infoFields(info), 0.0
		for _, kind := range []string{"used_cpu_user_main_thread", "used_cpu_sys_main_thread"} {
			seconds, err := strconv.ParseFloat(fields[kind], 64)
			r.must(err)
			total += seconds
		}
		return time.Duration(total * float64(time.Second))
	}
	processed := func() int64 {
		info, err := r.rdb.Info(r.ctx(), "commandstats").Result()
		r.must(err)
		calls, _, _ := strings.Cut(strings.TrimPrefix(infoFields(info)["cmdstat_evalsha"], "calls="), ",")
		n, err := strconv.ParseInt(calls, 10, 64)
		r.must(err)
		return n
	}
	calls, before := processed(), used()
	r.must(fn())
	took := used() - before
	return took / time.Duration(max(1, processed()-calls))
}

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

// TestScripts_LargeRecordsDoNotBlockOthers checks that no script takes more than 10 ms of the
// server's processor with bodies up to the default limit, or 20 ms with the largest, and that it
// reads at most one record, or 1.25 MiB of them. Done messages keep no body of more than 256 KiB, so
// a script may read five of them. The least of several runs counts, because the server also does
// other work.
func TestScripts_LargeRecordsDoNotBlockOthers(t *testing.T) {
	t.Parallel()
	for _, size := range []int{4 << 10, store.DefaultMaxBody, store.MaxBody} {
		bound, most := 10*time.Millisecond, store.MaxBatchBytes*5/4/size
		if size > store.DefaultMaxBody {
			bound, most = 20*time.Millisecond, 1
		}
		n := min(300, max(5<<20/size, 3))
		r := newRig(t, redistest.Start(t, "--slowlog-log-slower-than", "-1", "--slowlog-max-len", "100000").Client(t))
		for name, ready := range largeSteps(r, n, size) {
			run := ready()
			most := most
			if strings.HasSuffix(name, "the done") {
				most = max(most, store.MaxBatchBytes*5/4/keptBody)
			}
			for _, reads := range readsOfScripts(r, run) {
				if reads > most {
					t.Errorf("%s of %d bytes: one call read %d records, want at most %d", name, size, reads, most)
				}
			}
			least := time.Hour
			for try := 0; try < 2 || try < 8 && least > bound; try++ { // other processes use the caches, too
				run := ready()
				least = min(least, workOf(r, run))
			}
			t.Logf("%d x %d bytes, %s: %s a call", n, size, name, least)
			if least > bound {
				t.Errorf("%s of %d bytes: a call took %s of the server, want at most %s", name, size, least, bound)
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
