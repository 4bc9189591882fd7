package redisstore

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/store"
)

// Describe looks at the settings and the state of the servers: of the one that the store uses, or
// of all masters of a Cluster.
func (s *Store) Describe(ctx context.Context) (store.Description, error) {
	d := store.Description{Kind: s.kind}
	cluster, ok := s.rdb.(*redis.ClusterClient)
	if !ok {
		return d, s.look(ctx, &d, "", s.rdb)
	}
	d.Kind = store.KindCluster
	var mu sync.Mutex
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		var one store.Description
		err := s.look(ctx, &one, node.Options().Addr, node)
		mu.Lock()
		defer mu.Unlock()
		d.Servers, d.Findings = append(d.Servers, one.Servers...), append(d.Findings, one.Findings...)
		return err
	})
	if err != nil {
		return d, fail("describe", "", err)
	}
	slices.SortFunc(d.Servers, func(a, b store.Server) int { return strings.Compare(a.Address, b.Address) })
	slices.SortStableFunc(d.Findings, func(a, b store.Finding) int { return strings.Compare(a.Server, b.Server) })
	slots, err := cluster.ClusterSlots(ctx).Result() //nolint:staticcheck // Redis 6.2 has no CLUSTER SHARDS
	if err != nil {
		return d, fail("describe", "", err)
	}
	d.Findings = append(d.Findings, ofSlots(slots))
	if all, err := s.Stats(ctx, ""); err == nil { // else another finding says why
		d.Findings = append(d.Findings, ofPartitions(all))
	}
	return d, nil
}

// look asks one server, and adds what it answers to d.
func (s *Store) look(ctx context.Context, d *store.Description, server string, rdb redis.Cmdable) error {
	text, err := rdb.Info(ctx).Result()
	if redis.HasErrorPrefix(err, "NOPERM") {
		d.Findings = append(d.Findings, store.Finding{Check: "settings", Server: server, Level: store.Warn, Found: "INFO is not allowed", Fix: "allow +info, so that dueq can look at eviction, persistence and memory"})
		return nil
	}
	if err != nil {
		return fail("describe", "", err)
	}
	info := infoFields(text)
	d.Servers = append(d.Servers, serverOf(server, info))
	for _, f := range ofInfo(info) {
		f.Server = server
		d.Findings = append(d.Findings, f)
	}
	return nil
}

// serverOf returns what the fields of INFO say about a server.
func serverOf(address string, info map[string]string) store.Server {
	of := func(name string) int64 { return int64(min(number(info[name]), math.MaxInt64)) }
	version := "Redis " + info["redis_version"]
	if valkey := info["valkey_version"]; valkey != "" {
		version = "Valkey " + valkey
	}
	return store.Server{
		Address: address, Version: version, Role: info["role"], MemoryUsed: of("used_memory"), MemoryLimit: of("maxmemory"),
		Eviction: info["maxmemory_policy"], AppendOnly: info["aof_enabled"] == "1", LastSnapshot: 1000 * of("rdb_last_save_time"),
		Clients: of("connected_clients"), Replicas: of("connected_slaves"),
	}
}

// ofInfo returns what the fields of INFO mean for messages on that server.
func ofInfo(info map[string]string) []store.Finding {
	return []store.Finding{ofVersion(info), ofRole(info), ofEviction(info), ofPersistence(info), ofMemory(info)}
}

func ofVersion(info map[string]string) store.Finding {
	f := store.Finding{Check: "version", Found: info["redis_version"]}
	if oldest := oldestVersion(info["cluster_enabled"] == "1"); before(f.Found, oldest) {
		f.Level = store.Fail
		f.Fix = fmt.Sprintf("install Redis %d.%d or newer: older ones lack commands that the scripts use", oldest.major, oldest.minor)
	}
	return f
}

func ofRole(info map[string]string) store.Finding {
	f := store.Finding{Check: "role", Found: info["role"]}
	if info["role"] == "slave" {
		f.Level, f.Found, f.Fix = store.Fail, "replica", "use the address of the master, or Sentinel: a replica refuses every change"
	}
	return f
}

func ofEviction(info map[string]string) store.Finding {
	f := store.Finding{Check: "eviction", Found: info["maxmemory_policy"]}
	if f.Found != "" && f.Found != "noeviction" {
		f.Level, f.Fix = store.Fail, "CONFIG SET maxmemory-policy noeviction, and the same in redis.conf: when it is full, this Redis deletes messages"
	}
	return f
}

func ofPersistence(info map[string]string) store.Finding {
	f := store.Finding{Check: "persistence", Found: "append-only file"}
	switch {
	case info["aof_enabled"] == "0":
		f.Level, f.Found = store.Warn, "no append-only file"
		f.Fix = "CONFIG SET appendonly yes, and the same in redis.conf: a crash loses everything since the last snapshot"
	case info["aof_last_write_status"] == "err":
		f.Level, f.Found = store.Fail, "the append-only file cannot be written"
		f.Fix = "look at the disk of the server: it refuses changes until the file can be written"
	}
	return f
}

// The share of maxmemory that should be free.
const (
	tightMemory  = 0.25 // so that an outage of the consumers can be bridged
	almostNoneOf = 0.05
)

func ofMemory(info map[string]string) store.Finding {
	used, most := number(info["used_memory"]), number(info["maxmemory"])
	if most == 0 {
		return store.Finding{
			Check: "memory", Level: store.Warn, Found: fmt.Sprintf("%d MiB used, no limit", used>>20),
			Fix: "CONFIG SET maxmemory, below the memory of the machine: with a limit sends are refused when it is reached, without one the kernel kills Redis",
		}
	}
	free := 1 - float64(used)/float64(most)
	f := store.Finding{Check: "memory", Found: fmt.Sprintf("%d of %d MiB used, %.0f %% free", used>>20, most>>20, 100*max(0, free))}
	const fix = "raise maxmemory, add consumers, or purge dead and done messages: at the limit sends are refused"
	switch {
	case free < almostNoneOf:
		f.Level, f.Fix = store.Fail, fix
	case free < tightMemory:
		f.Level, f.Fix = store.Warn, fix
	}
	return f
}

// number returns the value of a field, 0 if it is none.
func number(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// ofSlots returns whether every slot of a Cluster has a master.
func ofSlots(ranges []redis.ClusterSlot) store.Finding {
	const all = 16384
	served := 0
	for _, r := range ranges {
		if len(r.Nodes) > 0 {
			served += r.End - r.Start + 1
		}
	}
	f := store.Finding{Check: "slots", Found: fmt.Sprintf("%d of %d served", served, all)}
	if served < all {
		f.Level, f.Fix = store.Fail, "redis-cli --cluster fix: partitions in the other slots do not work"
	}
	return f
}

// movable is how many messages of a partition can be moved to another master by MIGRATE before the
// masters have stopped for more than about a second: see docs/SCALING.md.
const movable = 200_000

// ofPartitions returns whether a partition has more messages than are movable.
func ofPartitions(all []store.Stats) store.Finding {
	f := store.Finding{Check: "partitions", Found: "no messages"}
	var most int64
	for _, st := range all {
		n := (st.Scheduled + st.Ready + st.Leased + st.Dead + st.Done) / int64(max(st.Settings.Partitions, 1))
		if n <= most {
			continue
		}
		most = n
		f.Found = fmt.Sprintf("%d messages in each partition of %s, the largest", n, st.Queue)
	}
	if most > movable {
		f.Level = store.Warn
		f.Fix = "dueq queue update --partitions: MIGRATE, which moves slots, moves each key in one step, and both masters answer nothing meanwhile, 3 s or more for 1,000,000 messages"
	}
	return f
}
