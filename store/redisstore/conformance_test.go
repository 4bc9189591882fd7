package redisstore_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/redisstore"
	"github.com/dueq-dev/dueq/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		server := redistest.Shared(t)
		alone := strings.Contains(t.Name(), "FullStore") // it fills up its server
		if alone {
			server = redistest.Start(t)
		}
		rdb, config := server.Client(t), redisstore.Config{Prefix: redistest.Prefix(), Logger: slog.New(slog.DiscardHandler)}
		h := storetest.Harness{
			Store:        opened(t, rdb, config),
			ExpireLeases: func(t testing.TB, p store.Partition) { expireLeases(t, rdb, config.Prefix, p) },
			Reopen:       func(t testing.TB) store.Store { return reopen(t, server, config) },
			ModelSteps:   30,
		}
		if alone {
			h.FillUp = func(t testing.TB) func() { return fillUp(t, rdb) }
		}
		t.Cleanup(func() { _ = h.Store.Close() })
		return h
	})
}

// opened returns a store on a client that is closed after it.
func opened(t testing.TB, rdb redis.UniversalClient, config redisstore.Config) *redisstore.Store {
	t.Helper()
	s, err := redisstore.New(rdb, config)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// expireLeases moves the deadlines of a partition's leases to the past, in their order.
func expireLeases(t testing.TB, rdb redis.UniversalClient, prefix string, p store.Partition) {
	t.Helper()
	key := fmt.Sprintf("%s:{%s}:leased", prefix, p)
	leases, err := rdb.ZRangeByScoreWithScores(t.Context(), key, &redis.ZRangeBy{Min: "-inf", Max: "(4503599627370496"}).Result()
	if err != nil {
		t.Fatal(err)
	}
	if len(leases) == 0 {
		return
	}
	for i := range leases {
		leases[i].Score -= 2 * store.MaxLease * 1024 // the lower bits are the aliases of holders
	}
	if err := rdb.ZAddXX(t.Context(), key, leases...).Err(); err != nil {
		t.Fatal(err)
	}
}

// reopen returns a store on connections of its own, as another process would have.
func reopen(t testing.TB, server *redistest.Server, config redisstore.Config) store.Store {
	t.Helper()
	s := opened(t, server.Client(t), config)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// fillUp makes a server refuse every write that needs memory.
func fillUp(t testing.TB, rdb redis.UniversalClient) (undo func()) {
	t.Helper()
	set := func(limit string) {
		for _, kv := range [][2]string{{"maxmemory-policy", "noeviction"}, {"maxmemory", limit}} {
			if err := rdb.ConfigSet(t.Context(), kv[0], kv[1]).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	set("1")
	return func() { set("0") }
}
