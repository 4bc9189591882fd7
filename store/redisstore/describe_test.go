package redisstore

import (
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

func TestOfInfo_JudgesEachSetting(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		"redis_version": "7.0.15", "role": "master", "maxmemory_policy": "noeviction", "aof_enabled": "1", "aof_last_write_status": "ok",
		"used_memory": "10485760", "maxmemory": "104857600",
	}
	tests := []struct {
		name, field, value string
		check              string
		level              store.Level
		found              string
	}{
		{"good", "redis_version", "7.0.15", "version", store.Fine, "7.0.15"},
		{"old", "redis_version", "6.0.16", "version", store.Fail, "6.0.16"},
		{"replica", "role", "slave", "role", store.Fail, "replica"},
		{"evicting", "maxmemory_policy", "allkeys-lru", "eviction", store.Fail, "allkeys-lru"},
		{"without a log", "aof_enabled", "0", "persistence", store.Warn, "no append-only file"},
		{"log that cannot be written", "aof_last_write_status", "err", "persistence", store.Fail, "the append-only file cannot be written"},
		{"room", "used_memory", "78643200", "memory", store.Fine, "75 of 100 MiB used, 25 % free"},
		{"little room", "used_memory", "83886080", "memory", store.Warn, "80 of 100 MiB used, 20 % free"},
		{"no room", "used_memory", "101711872", "memory", store.Fail, "97 of 100 MiB used, 3 % free"},
		{"over the limit", "used_memory", "209715200", "memory", store.Fail, "200 of 100 MiB used, 0 % free"},
		{"no limit", "maxmemory", "0", "memory", store.Warn, "10 MiB used, no limit"},
	}
	for _, test := range tests {
		info := map[string]string{}
		for name, value := range good {
			info[name] = value
		}
		info[test.field] = test.value
		for _, f := range ofInfo(info) {
			want := store.Finding{Check: f.Check, Level: store.Fine, Found: f.Found}
			if f.Check == test.check {
				want = store.Finding{Check: test.check, Level: test.level, Found: test.found, Fix: f.Fix}
			}
			if f != want || (f.Level == store.Fine) != (f.Fix == "") {
				t.Errorf("%s: %+v, want %+v", test.name, f, want)
			}
		}
	}
}

func TestOfSlots_GapIsAFailure(t *testing.T) {
	t.Parallel()
	nodes := []redis.ClusterNode{{Addr: "a"}}
	if f := ofSlots([]redis.ClusterSlot{{Start: 0, End: 8191, Nodes: nodes}, {Start: 8192, End: 16383, Nodes: nodes}}); f.Level != store.Fine {
		t.Errorf("all slots: %+v", f)
	}
	if f := ofSlots([]redis.ClusterSlot{{Start: 0, End: 8191, Nodes: nodes}, {Start: 8193, End: 16383, Nodes: nodes}}); f.Level != store.Fail || !strings.HasPrefix(f.Found, "16383 of") {
		t.Errorf("one is missing: %+v", f)
	}
}

func TestOfPartitions_WarnsOfLargeOnes(t *testing.T) {
	t.Parallel()
	queue := func(name string, partitions int, each int64) store.Stats {
		return store.Stats{Queue: name, Settings: store.Settings{Partitions: partitions}, Scheduled: 2 * each, Dead: each, Done: int64(partitions)*each - 3*each}
	}
	for _, c := range []struct {
		all   []store.Stats
		level store.Level
		found string
	}{
		{nil, store.Fine, "no messages"},
		{[]store.Stats{queue("a", 4, 7), queue("b", 8, movable), queue("c", 4, 9)}, store.Fine, "200000 messages in each partition of b, the largest"},
		{[]store.Stats{queue("a", 4, 7), queue("b", 3, movable+1)}, store.Warn, "200001 messages in each partition of b, the largest"},
	} {
		if f := ofPartitions(c.all); f.Check != "partitions" || f.Level != c.level || f.Found != c.found || (f.Fix == "") != (c.level == store.Fine) {
			t.Errorf("%+v, want %s", f, c.found)
		}
	}
}

// levels returns the levels of findings by check, the worst of each.
func levels(found []store.Finding) map[string]store.Level {
	by := map[string]store.Level{}
	for _, f := range found {
		by[f.Check] = max(by[f.Check], f.Level)
	}
	return by
}

func storeOf(t *testing.T, rdb redis.UniversalClient) *Store {
	t.Helper()
	s, err := New(rdb, Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestDescribe_SeesTheSettingsOfTheServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := server.Client(t)
	s := storeOf(t, rdb)
	for _, setting := range [][2]string{{"maxmemory-policy", "allkeys-lru"}, {"maxmemory", "1gb"}, {"appendonly", "no"}} {
		if err := rdb.ConfigSet(t.Context(), setting[0], setting[1]).Err(); err != nil {
			t.Fatal(err)
		}
	}
	d, err := s.Describe(t.Context())
	found := d.Findings
	if err != nil {
		t.Fatal(err)
	}
	by := levels(found)
	if len(by) != 5 || by["eviction"] != store.Fail || by["persistence"] != store.Warn || by["memory"] != store.Fine || by["version"] != store.Fine || by["role"] != store.Fine {
		t.Errorf("%+v", found)
	}
	if len(d.Servers) != 1 || d.Kind != store.KindRedis {
		t.Fatalf("%s: %+v", d.Kind, d.Servers)
	}
	of := d.Servers[0]
	if of.Address != "" || of.Role != "master" || of.MemoryLimit != 1<<30 || of.MemoryUsed <= 0 || of.Eviction != "allkeys-lru" || of.AppendOnly || of.Clients < 1 {
		t.Errorf("%+v", of)
	}
}

func TestDescribe_KindIsThatOfTheURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]store.Kind{"redis://localhost:1": store.KindRedis, "redis+sentinel://localhost:1/master": store.KindSentinel} {
		s, err := Open(url, Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		if s.kind != want {
			t.Errorf("%s: %s, want %s", url, s.kind, want)
		}
	}
}

func TestServerOf_ReadsInfo(t *testing.T) {
	t.Parallel()
	info := infoFields("redis_version:7.2.4\r\nvalkey_version:8.1.0\r\nrole:master\r\nused_memory:5\r\nmaxmemory:7\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n" +
		"rdb_last_save_time:9\r\nconnected_clients:3\r\nconnected_slaves:2\r\n")
	want := store.Server{
		Address: "a:1", Version: "Valkey 8.1.0", Role: "master", MemoryUsed: 5, MemoryLimit: 7, Eviction: "noeviction", AppendOnly: true,
		LastSnapshot: 9000, Clients: 3, Replicas: 2,
	}
	if got := serverOf("a:1", info); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestDescribe_WithoutPermissionForInfoWarns(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client(t)
	if err := admin.Do(t.Context(), "ACL", "SETUSER", "limited", "on", ">x", "~*", "&*", "+@all", "-info").Err(); err != nil {
		t.Fatal(err)
	}
	options := server.Options()
	options.Username, options.Password = "limited", "x"
	rdb := redis.NewClient(options)
	t.Cleanup(func() { _ = rdb.Close() })
	s := storeOf(t, rdb)
	d, err := s.Describe(t.Context())
	found := d.Findings
	if err != nil || len(found) != 1 || found[0].Level != store.Warn || !strings.Contains(found[0].Fix, "+info") {
		t.Errorf("%+v, %v, want a warning", found, err)
	}
}

func TestDescribe_AsksEveryMasterOfACluster(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3)
	s := storeOf(t, redistest.ClusterClient(t, nodes))
	d, err := s.Describe(t.Context())
	found := d.Findings
	if err != nil {
		t.Fatal(err)
	}
	servers := map[string]bool{}
	for _, f := range found {
		servers[f.Server] = true
	}
	if by := levels(found); len(servers) != 4 || by["slots"] != store.Fine || by["partitions"] != store.Fine || len(found) != 3*5+2 { // slots and partitions are those of all
		t.Errorf("%d servers: %+v", len(servers), found)
	}
	if d.Kind != store.KindCluster || len(d.Servers) != 3 || !slices.IsSortedFunc(d.Servers, func(a, b store.Server) int { return strings.Compare(a.Address, b.Address) }) {
		t.Errorf("%s: %+v", d.Kind, d.Servers)
	}
}
