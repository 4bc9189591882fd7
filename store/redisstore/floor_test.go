package redisstore

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

// BenchmarkServerCost sends 20,000 messages of 100 bytes and takes them out again, in
// batches of 100, and reports what one costs the server in processor time: here, and
// with the least that a safe queue can do, which is the floor. The two take turns, so
// that whatever else the machine does troubles both.
func BenchmarkServerCost(b *testing.B) {
	const messages, size = 20_000, 100
	names := []string{"dueq", "floor"}
	var rigs [2]*rig
	var steps [2][2]func() // send, receive
	for i, start := range []func(*rig) (send, receive func()){startDueq, startFloor} {
		rigs[i] = newRig(b, redistest.Start(b).Client(b))
		steps[i][0], steps[i][1] = start(rigs[i])
		steps[i][0]() // loads the scripts
		steps[i][1]()
	}
	var cost [2][2]float64
	n := 0
	for b.Loop() {
		for step := range 2 {
			for range messages / size / 20 {
				for i, r := range rigs {
					at := serverCPU(r)
					for range 20 {
						steps[i][step]()
					}
					cost[i][step] += serverCPU(r) - at
				}
			}
		}
		n += messages
	}
	for i, name := range names {
		b.ReportMetric(cost[i][0]*1e6/float64(n), name+"-send-us/msg")
		b.ReportMetric(cost[i][1]*1e6/float64(n), name+"-drain-us/msg")
		b.ReportMetric((cost[i][0]+cost[i][1])*1e6/float64(n), name+"-us/msg")
	}
	b.ReportMetric((cost[0][0]+cost[0][1])/(cost[1][0]+cost[1][1]), "ratio")
}

func startDueq(r *rig) (send, receive func()) {
	return func() {
		messages := r.messages(100, 100)
		for i := range messages {
			messages[i].New = true
		}
		r.push(messages...)
	}, func() { r.settle(store.Ack, r.claim(100)...) }
}

// startFloor has three sorted sets and a hash, and no receipts, counters, history,
// repetitions, keys, limits or bounds.
func startFloor(r *rig) (send, receive func()) {
	push := redis.NewScript(`
local at, records, dues = redis.call('TIME')[1] * 1000, {}, {}
for i = 1, #ARGV, 2 do
  records[i], records[i + 1], dues[i], dues[i + 1] = ARGV[i], ARGV[i + 1], at, ARGV[i]
end
redis.call('HSET', KEYS[2], unpack(records))
redis.call('ZADD', KEYS[1], unpack(dues))
return 1`)
	claim := redis.NewScript(`
local now = redis.call('TIME')[1] * 1000
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
local records, leases = redis.call('HMGET', KEYS[2], unpack(ids)), {}
for i = 1, #ids do leases[2 * i - 1], leases[2 * i] = now + ARGV[2], ids[i] end
redis.call('ZADD', KEYS[3], unpack(leases))
redis.call('ZREM', KEYS[1], unpack(ids))
return {ids, records}`)
	ack := redis.NewScript(`
redis.call('HDEL', KEYS[2], unpack(ARGV))
return redis.call('ZREM', KEYS[3], unpack(ARGV))`)
	keys, body := []string{"{floor}:due", "{floor}:msg", "{floor}:leased"}, string(make([]byte, 100))
	run := func(s *redis.Script, args ...any) []any {
		got, err := s.Run(r.ctx(), r.rdb, keys, args...).Result()
		r.must(err)
		lists, _ := got.([]any)
		return lists
	}
	return func() {
			pairs := make([]any, 0, 200)
			for range 100 {
				pairs = append(pairs, route.NewID(0).String(), body)
			}
			run(push, pairs...)
		}, func() {
			run(ack, run(claim, 100, 30_000)[0].([]any)...)
		}
}
