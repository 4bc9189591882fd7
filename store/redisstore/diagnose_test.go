package redisstore

import (
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

func TestDiagnose_SeesTheSettingsOfTheServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := server.Client(t)
	s := storeOf(t, rdb)
	for _, setting := range [][2]string{{"maxmemory-policy", "allkeys-lru"}, {"maxmemory", "1gb"}, {"appendonly", "no"}} {
		if err := rdb.ConfigSet(t.Context(), setting[0], setting[1]).Err(); err != nil {
			t.Fatal(err)
		}
	}
	found, err := s.Diagnose(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	by := levels(found)
	if len(by) != 5 || by["eviction"] != store.Fail || by["persistence"] != store.Warn || by["memory"] != store.Fine || by["version"] != store.Fine || by["role"] != store.Fine {
		t.Errorf("%+v", found)
	}
}

func TestDiagnose_WithoutPermissionForInfoWarns(t *testing.T) {
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
	found, err := s.Diagnose(t.Context())
	if err != nil || len(found) != 1 || found[0].Level != store.Warn || !strings.Contains(found[0].Fix, "+info") {
		t.Errorf("%+v, %v, want a warning", found, err)
	}
}

func TestDiagnose_AsksEveryMasterOfACluster(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3)
	s := storeOf(t, redistest.ClusterClient(t, nodes))
	found, err := s.Diagnose(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	servers := map[string]bool{}
	for _, f := range found {
		servers[f.Server] = true
	}
	if by := levels(found); len(servers) != 4 || by["slots"] != store.Fine || len(found) != 3*5+1 { // the slots are those of all
		t.Errorf("%d servers: %+v", len(servers), found)
	}
}
