package rawredis

import (
	"context"
	"encoding/base32"
	"fmt"
	"strconv"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// Floor is the least that a safe delayed queue must do in Redis: store, lease, and
// remove what was leased, in batches; with no recovery, no keys, no attempts, no pause,
// no counters and no answer to a repeated call. Its cost is what dueq's is compared with.
type Floor struct {
	rdb              redis.UniversalClient
	due, msg, leased string
}

// Floor returns a queue of the floor. It has one slot of a Cluster.
func (s *Server) Floor(name string) *Floor {
	tag := s.prefix + ":{floor-" + name + "}:"
	return &Floor{rdb: s.rdb, due: tag + "due", msg: tag + "msg", leased: tag + "leased"}
}

// All arguments stand in the order in which the commands want them, so that the scripts
// have nothing to do but call.
var (
	floorPush = redis.NewScript(`
local n = tonumber(ARGV[1])
redis.call('ZADD', KEYS[1], unpack(ARGV, 2, 2 * n + 1))
redis.call('HSET', KEYS[2], unpack(ARGV, 2 * n + 2))
return n`)
	floorClaim = redis.NewScript(`
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
if #ids == 0 then return {ids, ids} end
local bodies, leases = redis.call('HMGET', KEYS[2], unpack(ids)), {}
for i, id in ipairs(ids) do
  leases[2 * i - 1], leases[2 * i] = now + 30000, id
end
redis.call('ZADD', KEYS[3], unpack(leases))
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, #ids - 1)
return {ids, bodies}`)
	floorAck = redis.NewScript(`
redis.call('ZREM', KEYS[1], unpack(ARGV))
return redis.call('HDEL', KEYS[2], unpack(ARGV))`)
)

// Push stores n messages, at most 1000, that are due at an instant in unix ms. The ids
// are made like those of dueq, so that both find the same positions in the sorted sets.
func (f *Floor) Push(ctx context.Context, due int64, n int, body []byte) error {
	args := make([]any, 1+4*n)
	args[0] = n
	for i := range n {
		id := floorIDs.EncodeToString(newID())
		args[1+2*i], args[2+2*i] = due, id
		args[1+2*n+2*i], args[2+2*n+2*i] = id, body
	}
	return failed("push", floorPush.Run(ctx, f.rdb, []string{f.due, f.msg}, args...).Err())
}

// floorIDs writes 16 bytes as 26 characters that sort like the bytes.
var floorIDs = base32.HexEncoding.WithPadding(base32.NoPadding)

func newID() []byte {
	id := uuid.Must(uuid.NewV7())
	return id[:]
}

// Claim leases up to n messages that are due, and returns their ids as Ack wants them.
func (f *Floor) Claim(ctx context.Context, n int) ([]any, error) {
	reply, err := floorClaim.Run(ctx, f.rdb, []string{f.due, f.msg, f.leased}, strconv.Itoa(n)).Slice()
	if err != nil {
		return nil, failed("claim", err)
	}
	ids, _ := reply[0].([]any) // the script above returns lists
	bodies, _ := reply[1].([]any)
	for i, body := range bodies {
		if body == nil {
			return nil, fmt.Errorf("floor: claim: message %v is gone", ids[i])
		}
	}
	return ids, nil
}

// Ack removes messages that were claimed.
func (f *Floor) Ack(ctx context.Context, ids []any) error {
	removed, err := floorAck.Run(ctx, f.rdb, []string{f.leased, f.msg}, ids...).Int()
	if err == nil && removed != len(ids) {
		err = fmt.Errorf("%d of %d were there", removed, len(ids))
	}
	return failed("ack", err)
}

func failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("floor: %s: %w", op, err)
}
