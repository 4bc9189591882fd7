package rawredis

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// What SLOWLOG is set to by Longest.
const (
	longMicroseconds = 200
	longKept         = 100_000
)

// Longest returns how many commands have kept a server from others for 0.2 ms or more since the call
// before, and for how long the longest one has. The first call only begins. It changes the settings
// of SLOWLOG, and empties it: use it on servers of a benchmark's own.
func (s *Server) Longest(ctx context.Context) (n int, longest time.Duration, err error) {
	err = gather(ctx, s, longestOf, func(found []time.Duration) {
		for _, took := range found {
			n, longest = n+1, max(longest, took)
		}
	})
	return n, longest, err
}

func longestOf(ctx context.Context, rdb *redis.Client) (found []time.Duration, err error) {
	all, err := rdb.SlowLogGet(ctx, -1).Result()
	if err != nil {
		return nil, err
	}
	for i := range all {
		if name := strings.ToLower(all[i].Args[0]); name != "slowlog" && name != "config" {
			found = append(found, all[i].Duration)
		}
	}
	pipe := rdb.Pipeline()
	pipe.ConfigSet(ctx, "slowlog-max-len", strconv.Itoa(longKept))
	pipe.ConfigSet(ctx, "slowlog-log-slower-than", strconv.Itoa(longMicroseconds))
	pipe.SlowLogReset(ctx)
	_, err = pipe.Exec(ctx)
	return found, err
}
