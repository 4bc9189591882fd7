package migrate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/bench/host"
	"github.com/dueq-dev/dueq/internal/migrate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write the keys of the libraries to internal/migrate/testdata")

// sourceRedis returns an empty server, its socket and a client.
func sourceRedis(t *testing.T) (string, *redis.Client) {
	t.Helper()
	dir, err := os.MkdirTemp("", "migrate") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	server, err := host.StartRedis(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: server.Socket, DisableIdentity: true})
	t.Cleanup(func() { _ = errors.Join(rdb.Close(), server.Stop()) })
	return server.Socket, rdb
}

func destination(t *testing.T) *dueq.Queue {
	t.Helper()
	client, err := dueq.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client.Queue("to")
}

// want compares a result with what the library was asked to do.
func want(t *testing.T, r migrate.Result, sent int, states ...migrate.State) {
	t.Helper()
	var found []migrate.State
	for _, s := range r.States {
		if s.Source > 0 || s.Copied > 0 {
			found = append(found, s)
		}
	}
	if !slices.Equal(found, states) || r.Sent != sent || r.Missing() != 0 || r.Refused() != 0 {
		t.Errorf("%+v\nsent %d, want %+v, sent %d, none missing or refused", r, r.Sent, states, sent)
	}
}

// copyTwice copies a queue, and then again, which must store nothing. lost has how many messages have
// what dueq has no place for.
func copyTwice(t *testing.T, c migrate.Config, sent int, lost map[string]int, states []migrate.State) {
	t.Helper()
	r := run(t, c)
	want(t, r, sent, states...)
	found := map[string]int{}
	for _, l := range r.Lost {
		found[l.Reason] = l.Count
	}
	if !maps.Equal(found, lost) {
		t.Errorf("lost %v, want %v", found, lost)
	}
	again := slices.Clone(states)
	for i := range again {
		again[i].Copied, again[i].Before = 0, again[i].Copied
	}
	want(t, run(t, c), 0, again...)
}

// copies returns the messages of a queue by the last part of their origin, the id.
func copies(t *testing.T, q *dueq.Queue) map[string]dueq.Record {
	t.Helper()
	all := map[string]dueq.Record{}
	for r, err := range q.Messages(t.Context(), dueq.ListOptions{BodyLimit: 1 << 20}) {
		if err != nil {
			t.Fatal(err)
		}
		all[string(r.Body)] = r
	}
	return all
}

func run(t *testing.T, c migrate.Config) migrate.Result {
	t.Helper()
	r, err := migrate.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// unchanged returns a function that reports whether the keys are those that are there now.
func unchanged(t *testing.T, rdb *redis.Client) func() {
	t.Helper()
	first := dump(t, rdb)
	return func() {
		t.Helper()
		if now := dump(t, rdb); !bytes.Equal(first, now) {
			t.Errorf("the source was changed:\n%s\nwant\n%s", now, first)
		}
	}
}

// dumped is one key of a recorded source.
type dumped struct {
	Key    string            `json:"key"`
	String *string           `json:"string,omitempty"`
	List   []string          `json:"list,omitempty"`
	Set    []string          `json:"set,omitempty"`
	Hash   map[string][]byte `json:"hash,omitempty"` // values in base 64
	Sorted []scored          `json:"sorted,omitempty"`
}

type scored struct {
	Member string  `json:"member"`
	Score  float64 `json:"score"`
}

// dump returns all keys but streams, one a line, sorted.
func dump(t *testing.T, rdb *redis.Client) []byte {
	t.Helper()
	names, err := rdb.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	for _, name := range names {
		d, err := dumpKey(t.Context(), rdb, name)
		if err == nil && d != nil {
			err = out.Encode(d)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func dumpKey(ctx context.Context, rdb *redis.Client, name string) (*dumped, error) {
	d := &dumped{Key: name}
	kind, err := rdb.Type(ctx, name).Result()
	if err != nil {
		return nil, err
	}
	switch kind {
	case "string":
		text, err := rdb.Get(ctx, name).Result()
		d.String = &text
		return d, err
	case "list":
		d.List, err = rdb.LRange(ctx, name, 0, -1).Result()
	case "set":
		d.Set, err = rdb.SMembers(ctx, name).Result()
	case "hash":
		var fields map[string]string
		fields, err = rdb.HGetAll(ctx, name).Result()
		d.Hash = map[string][]byte{}
		delete(fields, "stacktrace") // it names the directories of the machine
		for field, value := range fields {
			d.Hash[field] = []byte(value)
		}
	case "zset":
		var members []redis.Z
		members, err = rdb.ZRangeWithScores(ctx, name, 0, -1).Result()
		for _, m := range members {
			member, _ := m.Member.(string)
			d.Sorted = append(d.Sorted, scored{member, m.Score})
		}
	default: // the events of BullMQ, which nobody reads again
		return nil, nil
	}
	return d, err
}

// record writes the keys to testdata if it was asked for.
func record(t *testing.T, rdb *redis.Client, library, version string) {
	t.Helper()
	if !*update {
		return
	}
	path := filepath.Join("..", "..", "internal", "migrate", "testdata", library+"-"+version+".jsonl")
	if err := os.WriteFile(path, dump(t, rdb), 0o644); err != nil {
		t.Fatal(err)
	}
}

// near reports an error unless a record is due at an instant, give or take the second to which the
// libraries round.
func near(t *testing.T, r *dueq.Record, due time.Time) {
	t.Helper()
	if off := r.At.Sub(due); off < -2*time.Second || off > 2*time.Second {
		t.Errorf("%s is due at %s, want %s", r.Body, r.At, due)
	}
}
