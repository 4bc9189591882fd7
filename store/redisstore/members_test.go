package redisstore

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

func (r *rig) beat(b store.BeatRequest) store.BeatResult {
	r.t.Helper()
	result, err := r.Beat(r.ctx(), b)
	r.must(err)
	return result
}

// A beat costs the same number of calls however many clients and consumers there are, and an
// answer about duties only as much as the queue that it is about has partitions.
func TestBeat_CostDoesNotGrowWithTheFleet(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Start(t).Client(t))
	member := func(queue, consumer string) []store.Member {
		return []store.Member{{Queue: queue, Consumer: consumer}}
	}
	join := func(i int) {
		name := fmt.Sprintf("c%03d", i)
		r.beat(store.BeatRequest{Client: name, TTL: 60_000, Join: slices.Concat(member("q", name), member("other", name))})
	}
	measure := func() (beat, duties int) {
		known := r.beat(store.BeatRequest{Client: "c000", TTL: 60_000}).Version
		ask := func() {
			_, err := r.Duties(r.ctx(), []store.DutyRequest{{Queue: "q", Consumer: "c000", Partitions: 2}})
			r.must(err)
		}
		ask() // makes the table
		beat = redisCalls(r, func() { r.beat(store.BeatRequest{Client: "c000", TTL: 60_000, Known: known}) })
		return beat, redisCalls(r, ask)
	}
	join(0)
	beat, duties := measure()
	for i := range 200 {
		join(i)
	}
	beatOfMany, dutiesOfMany := measure()
	r.want("redis.calls of a beat", []int{beat, beatOfMany}, []int{12, 12})
	r.want("redis.calls of a question about duties", []int{duties, dutiesOfMany}, []int{5, 5})
}

// The table of duties is made once, by the first client that asks.
func TestDuties_OneClientMakesTheTable(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.beat(store.BeatRequest{Client: "x", TTL: 60_000, Join: []store.Member{{Queue: "q", Consumer: "a"}, {Queue: "q", Consumer: "b"}}})
	request := []store.DutyRequest{{Queue: "q", Consumer: "a", Partitions: 3}}
	first, err := r.Duties(r.ctx(), request)
	r.must(err)
	k := r.clientsKeys()
	table := r.rdb.HGet(r.ctx(), k.duties, "q").Val()
	version := r.rdb.ZScore(r.ctx(), k.changes, "q").Val()
	// Another client that was slower does not replace it, and neither does one that saw other consumers.
	r.want("of the same consumers", r.assign(r.ctx(), request[0], fmt.Sprintf("%.0f", version), nil, []string{"a"}), table)
	r.assign(r.ctx(), request[0], "1", nil, []string{"a"})
	r.want("table", r.rdb.HGet(r.ctx(), k.duties, "q").Val(), table)
	again, err := r.another().Duties(r.ctx(), request)
	r.must(err)
	r.want("duties", again, first)
}

func TestReadTable(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	table := makeTable("7", []string{"b", "a", "b"}, []string{"a", "b"})
	r.want("table", table, "7 3 1 0 1 / b a b")
	indexes, owners := readTable(table)
	r.want("indexes", indexes, []int{1, 0, 1})
	r.want("owners", owners, []string{"b", "a", "b"})
	for _, bad := range []string{"", "7", "7 1 x / a", "7 1 1000 / a", "\x00"} {
		indexes, owners := readTable(bad)
		r.want("indexes of "+bad, indexes, []int(nil))
		r.want("owners of "+bad, owners, []string(nil))
	}
}

// What is left of clients that end without leaving expires.
func TestBeat_KeysExpire(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.beat(store.BeatRequest{Client: "x", TTL: 60_000, Join: []store.Member{{Queue: "q", Consumer: "a"}}, Trial: []store.Member{{Queue: "q", Consumer: "b"}}})
	_, err := r.Duties(r.ctx(), []store.DutyRequest{{Queue: "q", Consumer: "a", Partitions: 1}})
	r.must(err)
	r.beat(store.BeatRequest{Client: "x", TTL: 60_000})
	k := r.clientsKeys()
	for _, key := range []string{k.beats, k.members, k.byClient, k.changes, k.duties, k.trials} {
		r.want("ttl of "+key, r.rdb.TTL(r.ctx(), key).Val().Seconds(), float64(clientsTTL))
	}
	r.beat(store.BeatRequest{Client: "x"})
	keys, err := r.rdb.Keys(r.ctx(), r.config.Prefix+":{.clients}:*").Result()
	r.must(err)
	r.want("keys that are left", keys, []string{k.changes})
}

// A consumer that has not noticed the deletion of its queue does not bring its name back, and one
// of a queue whose name was lost does.
func TestBeat_ListsQueuesThatExist(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.push(r.messages(1, 10)...)
	other := r.another()
	other.claim(1)
	other.beat(store.BeatRequest{Client: "x", TTL: 60_000, Join: []store.Member{{Queue: "q", Consumer: "c"}}})
	r.must(r.rdb.Del(r.ctx(), r.queuesKey()).Err())
	other.consumed.listed = time.Time{} // it was long ago
	other.beat(store.BeatRequest{Client: "x", TTL: 60_000})
	r.want("queues", r.rdb.SMembers(r.ctx(), r.queuesKey()).Val(), []string{"q"})
	r.must(r.DeleteQueue(r.ctx(), "q", store.DeleteRequest{Force: true}))
	other.consumed.listed = time.Time{}
	other.beat(store.BeatRequest{Client: "x", TTL: 60_000})
	r.want("queues", r.rdb.Exists(r.ctx(), r.queuesKey()).Val(), 0)
}
