package rawredis

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestPrefixed_ReplacesOnlyThePrefix(t *testing.T) {
	t.Parallel()
	for store, want := range map[string]string{
		"mem:":              "mem:",
		"redis://localhost": "redis://localhost?prefix=own",
		"redis://u:p%3Fw@h:1/2?prefix=theirs&pool_size=3": "redis://u:p%3Fw@h:1/2?pool_size=3&prefix=own",
		"unix:///run/redis.sock?db=1":                     "unix:///run/redis.sock?db=1&prefix=own",
		"redis+cluster://a,b":                             "redis+cluster://a,b?prefix=own",
		"redis+sentinel://u:p@a/m?prefix=theirs":          "redis+sentinel://u:p@a/m?prefix=own",
		"nonsense":                                        "nonsense",
	} {
		if got := Prefixed(store, "own"); got != want {
			t.Errorf("Prefixed(%q) = %q, want %q", store, got, want)
		}
	}
}

func TestDial_OwnOptionsAreNotPassedToGoRedis(t *testing.T) {
	t.Parallel()
	s, err := Dial("redis://u:secret@127.0.0.1:1/3?prefix=p&replicas=1&replica_timeout=1s&send_timeout=2s&pool_size=7", "own")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	rdb, ok := s.rdb.(*redis.Client)
	if !ok {
		t.Fatalf("a client of type %T", s.rdb)
	}
	if o := rdb.Options(); o.DB != 3 || o.PoolSize != 7 || o.Password != "secret" || s.prefix != "own" || o.MaxRetries != 0 || o.ReadTimeout != answerTimeout {
		t.Errorf("options are %+v", o)
	}
}

// info is what a server says before and after two scripts of three commands each and
// one PING.
const info = "# CPU\r\nused_cpu_sys:1.250000\r\nused_cpu_user:2.500000\r\n# Stats\r\ntotal_net_input_bytes:1000\r\n" +
	"total_net_output_bytes:500\r\nused_memory:5000\r\nmem_clients_normal:1000\r\nmaxmemory:0\r\ntotal_system_memory:25000\r\n" +
	"lazyfree_pending_objects:3\r\nredis_version:7.0.15\r\n" +
	"cmdstat_info:calls=4,usec=1,usec_per_call=1\r\ncmdstat_evalsha:calls=10,usec=1\r\ncmdstat_zadd:calls=30,usec=1\r\ncmdstat_client|list:calls=2,usec=1\r\n"

func TestInfo_IsParsed(t *testing.T) {
	t.Parallel()
	before, err := parse(info)
	if err != nil {
		t.Fatal(err)
	}
	if before.CPU != 3750*time.Millisecond || before.Memory != 4000 || before.Free != 20000 || before.Freeing != 3 || before.Version != "redis 7.0.15" {
		t.Errorf("read %+v", before)
	}
	if before.Executed != 46 || before.Sent != 16 {
		t.Errorf("read %d commands executed, %d sent, want 46 and 16", before.Executed, before.Sent)
	}
	after, err := parse(strings.NewReplacer(
		"info:calls=4", "info:calls=5", "evalsha:calls=10", "evalsha:calls=12", "zadd:calls=30", "zadd:calls=36",
		"sys:1.25", "sys:1.75", "input_bytes:1000", "input_bytes:1100", "maxmemory:0", "maxmemory:7000",
	).Replace(info + "cmdstat_ping:calls=1,usec=1\r\nvalkey_version:8.1.0\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	used := after.Since(before)
	if used.CPU != 500*time.Millisecond || used.Sent != 3 || used.Executed != 9 || used.In != 100-int64(len(infoCall)) {
		t.Errorf("used %+v, want 3 commands sent and 9 executed", used)
	}
	if after.Free != 2000 || after.Version != "valkey 8.1.0" {
		t.Errorf("read %+v", after)
	}
	if _, err := parse("redis_version:7\r\n"); err == nil || !strings.Contains(err.Error(), "used_cpu_user") {
		t.Errorf("without CPU times the error is %v", err)
	}
}

func TestReading_SumOfSeveralServers(t *testing.T) {
	t.Parallel()
	one, err := parse(info)
	if err != nil {
		t.Fatal(err)
	}
	busier, err := parse(strings.NewReplacer("evalsha:calls=10", "evalsha:calls=15", "sys:1.25", "sys:2.25",
		"info:calls=4", "info:calls=5", "total_system_memory:25000", "total_system_memory:6000").Replace(info))
	if err != nil {
		t.Fatal(err)
	}
	before := Reading{}.with(one).with(one)
	after := one.with(busier)
	after.Executed, after.Sent = after.Executed+1, after.Sent+1 // the INFO of the other server
	used := after.Since(before)
	if used.CPU != time.Second || used.Sent != 5 || used.Executed != 5 {
		t.Errorf("used %+v, want 1 s of CPU and 5 commands", used)
	}
	if after.Memory != 8000 || after.Freeing != 6 || after.Free != 1000 {
		t.Errorf("read %+v, want the sums of memory and the smaller free memory", after)
	}
}
