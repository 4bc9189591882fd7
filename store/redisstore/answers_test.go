package redisstore

import (
	"slices"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

// answersRead returns the fields of calls that scripts read while fn ran. It reads them from the
// output of MONITOR.
func answersRead(r *rig, fn func()) []string {
	r.t.Helper()
	r.must(r.rdb.ConfigSet(r.ctx(), "slowlog-log-slower-than", "0").Err())
	r.must(r.rdb.Do(r.ctx(), "SLOWLOG", "RESET").Err())
	fn()
	entries, err := r.rdb.SlowLogGet(r.ctx(), -1).Result()
	r.must(err)
	r.must(r.rdb.ConfigSet(r.ctx(), "slowlog-log-slower-than", "-1").Err())
	var fields []string
	for _, e := range entries {
		name := strings.ToLower(e.Args[0])
		if (name == "hget" || name == "hmget") && e.Args[1] == r.key("calls") {
			fields = append(fields, e.Args[2:]...)
		}
	}
	return fields
}

// The remembered answer to a claim of 500 has 14 KB. Every claim looks up its number, and must not
// copy the answer for that.
func TestClaim_OnlyARepetitionReadsALongAnswer(t *testing.T) {
	t.Parallel()
	const answer, short = "c:c=", 100
	r := newRig(t, redistest.Start(t, "--slowlog-max-len", "10000").Client(t))
	r.push(r.messages(500, 10)...)
	ds := r.claim(500) // loads the scripts
	r.settle(store.Ack, ds...)
	r.push(r.messages(500, 10)...)
	last := r.claimRequest(500)
	claim := func(q store.ClaimRequest, want int) func() {
		return func() {
			result, err := r.Claim(r.ctx(), r.p, q)
			r.must(err)
			r.want("deliveries", len(result.Deliveries), want)
		}
	}
	fields := answersRead(r, claim(last, 500))
	r.want("fields read by a claim behind one of 500", fields, []string{"c:c"})
	if kept, number := r.rdb.HStrLen(r.ctx(), r.key("calls"), answer).Val(), r.rdb.HStrLen(r.ctx(), r.key("calls"), "c:c").Val(); kept < 500*idLen || number > short {
		t.Errorf("%d bytes of answer and %d of its number, want them apart", kept, number)
	}
	if fields = answersRead(r, claim(last, 500)); !slices.Contains(fields, answer) {
		t.Errorf("a repetition reads %q, want the answer", fields)
	}
	r.want("fields read by an idle claim", answersRead(r, claim(r.claimRequest(500), 0)), []string{"c:c"})
	r.push(r.messages(1, 10)...)
	r.want("fields read by a claim of one", answersRead(r, claim(r.claimRequest(500), 1)), []string{"c:c"})
	r.want("the long answer", r.rdb.HExists(r.ctx(), r.key("calls"), answer).Val(), false)
}

func TestLeave_DropsLongAnswersAndKeepsNumbers(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Start(t).Client(t))
	r.push(r.messages(500, 10)...)
	last := r.claimRequest(200)
	_, err := r.Claim(r.ctx(), r.p, last)
	r.must(err)
	before := r.rdb.MemoryUsage(r.ctx(), r.key("calls"), 0).Val()
	r.must(r.Leave(r.ctx(), r.p, store.LeaveRequest{Consumers: []string{"c", "nobody"}}))
	after := r.rdb.MemoryUsage(r.ctx(), r.key("calls"), 0).Val()
	t.Logf("calls has %d bytes before, %d after", before, after)
	if after > before/5 {
		t.Errorf("calls has %d bytes after leaving, %d before", after, before)
	}
	again, err := r.Claim(r.ctx(), r.p, last)
	r.must(err)
	r.want("late claim", len(again.Deliveries), 0)
	r.want("leased", r.stats().Leased, 200)
	r.want("redis.calls when there is nothing to drop", redisCalls(r, func() { r.must(r.Leave(r.ctx(), r.p, store.LeaveRequest{Consumers: []string{"c"}})) }), 2)
	r.want("problems", len(r.problems()), 0)
}
