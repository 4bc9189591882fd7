package migrate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqtest"
	"github.com/dueq-dev/dueq/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What the recorded queues contain. bench/migrate makes other ids and times each time it records.
const (
	recordedScheduled = 1795553657_000
	recordedRetry     = 1795391657_000
	recordedRetried   = "ae78a573-3b9d-4056-9092-f02d8d5330a0"
	recordedPending   = "1d274219-3a42-4056-a20b-3b7024a3f26c"
	recordedEmpty     = "ca62b4f9-6158-43a9-9416-a11c6819810e"
	recordedDelayed   = 1795553657277
	recordedBackoff   = 1795391658115
)

// recordedAt is a time between the recording and these.
var recordedAt = time.Unix(1795381657, 0)

// origin is a Redis with the queue of another library. The URL is that of a user who may only read.
type origin struct {
	*redis.Client
	t   *testing.T
	url string
}

func newOrigin(t *testing.T) *origin {
	t.Helper()
	server := redistest.Start(t)
	rdb := server.Client(t)
	o := &origin{Client: rdb, t: t, url: "redis://reader:pw@" + server.Addr()}
	o.do("ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@read", "+@connection")
	return o
}

func (o *origin) do(args ...any) {
	o.t.Helper()
	if err := o.Do(o.t.Context(), args...).Err(); err != nil {
		o.t.Fatal(err)
	}
}

// load writes the keys of a file that bench/migrate has recorded.
func (o *origin) load(name string) {
	o.t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		o.t.Fatal(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var k struct {
			Key    string
			String *string
			List   []any
			Set    []any
			Hash   map[string][]byte
			Sorted []struct {
				Member string
				Score  float64
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &k); err != nil {
			o.t.Fatal(err)
		}
		if k.String != nil {
			o.do("SET", k.Key, *k.String)
		}
		if len(k.List) > 0 {
			o.do(append([]any{"RPUSH", k.Key}, k.List...)...)
		}
		if len(k.Set) > 0 {
			o.do(append([]any{"SADD", k.Key}, k.Set...)...)
		}
		for field, value := range k.Hash {
			o.do("HSET", k.Key, field, value)
		}
		for _, z := range k.Sorted {
			o.do("ZADD", k.Key, strconv.FormatFloat(z.Score, 'f', -1, 64), z.Member)
		}
	}
}

// copyTo runs a copy that must succeed.
func (o *origin) copyTo(client *dueqtest.Client, c Config) Result {
	o.t.Helper()
	c.From, c.To = o.url, client.Queue("to")
	r, err := Run(o.t.Context(), c)
	if err != nil {
		o.t.Fatal(err)
	}
	return r
}

// check compares the states that are not empty.
func check(t *testing.T, r Result, sent int, want ...State) {
	t.Helper()
	found := slices.DeleteFunc(slices.Clone(r.States), func(s State) bool { return s == State{State: s.State} })
	if !slices.Equal(found, want) || r.Sent != sent || r.Missing() != 0 {
		t.Errorf("%+v, want %+v, %d sent", r, want, sent)
	}
}

func reasons(all []Reason) map[string]int {
	counts := map[string]int{}
	for _, r := range all {
		counts[r.Reason] = r.Count
	}
	return counts
}

// byBody returns what a queue has.
func byBody(t *testing.T, client *dueqtest.Client) map[string]dueq.Record {
	t.Helper()
	all := map[string]dueq.Record{}
	for r, err := range client.Queue("to").Messages(t.Context(), dueq.ListOptions{BodyLimit: 1000}) {
		if err != nil {
			t.Fatal(err)
		}
		all[string(r.Body)] = r
	}
	return all
}

// copyOf is what is compared of a copy.
type copyOf struct {
	body     string
	state    dueq.State
	due      int64 // Unix time in ms, if it is scheduled
	attempts int
	headers  string
}

func checkCopies(t *testing.T, client *dueqtest.Client, want ...copyOf) {
	t.Helper()
	all := byBody(t, client)
	if len(all) != len(want) {
		t.Errorf("%d messages, want %d", len(all), len(want))
	}
	for _, w := range want {
		r := all[w.body]
		got := copyOf{string(r.Body), r.State, 0, r.MaxAttempts, ""}
		if r.State == dueq.Scheduled {
			got.due = r.At.UnixMilli()
		}
		for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
			got.headers += name + "=" + r.Headers[name] + " "
		}
		if got != w {
			t.Errorf("the copy is\n%+v, want\n%+v", got, w)
		}
	}
}

func TestRun_AsynqTasks(t *testing.T) {
	t.Parallel()
	o, client := newOrigin(t), dueqtest.NewAt(t, recordedAt)
	o.load("asynq-0.26.0.jsonl")
	r := o.copyTo(client, Config{Kind: "asynq", Name: "default"})
	check(t, r, 4,
		State{"scheduled", 1, 1, 0, 0}, State{"retry", 1, 1, 0, 0}, State{"pending", 2, 2, 0, 0},
		State{"aggregating", 1, 0, 0, 1}, State{"archived", 1, 0, 0, 1}, State{"completed", 1, 0, 0, 1})
	if want := map[string]int{"deadline": 1, "timeout": 1, "unique lock": 1}; !maps.Equal(reasons(r.Lost), want) {
		t.Errorf("lost %v, want %v", r.Lost, want)
	}
	checkCopies(t, client,
		copyOf{"scheduled", dueq.Scheduled, recordedScheduled, 26, "Migrated-From=asynq:default:order-42 Migrated-Type=email:welcome "},
		copyOf{"retried", dueq.Scheduled, recordedRetry, 4, "Migrated-From=asynq:default:" + recordedRetried + " Migrated-Type=retried "},
		copyOf{"pending", dueq.Ready, 0, 8, "Migrated-From=asynq:default:" + recordedPending + " Migrated-Type=email:welcome tenant=seven trace=é "},
		copyOf{"", dueq.Ready, 0, 26, "Migrated-From=asynq:default:" + recordedEmpty + " Migrated-Type=empty "},
	)
	check(t, o.copyTo(client, Config{Kind: "asynq", Name: "default"}), 0,
		State{"scheduled", 1, 0, 1, 0}, State{"retry", 1, 0, 1, 0}, State{"pending", 2, 0, 2, 0},
		State{"aggregating", 1, 0, 0, 1}, State{"archived", 1, 0, 0, 1}, State{"completed", 1, 0, 0, 1})
}

func TestRun_BullMQJobs(t *testing.T) {
	t.Parallel()
	o, client := newOrigin(t), dueqtest.NewAt(t, recordedAt)
	o.load("bullmq-6.7.0.jsonl")
	r := o.copyTo(client, Config{Kind: "bullmq", Name: "hooks"})
	check(t, r, 5,
		State{"delayed", 2, 2, 0, 0}, State{"prioritized", 1, 1, 0, 0}, State{"wait", 4, 2, 0, 2},
		State{"waiting-children", 1, 0, 0, 1}, State{"failed", 1, 0, 0, 1}, State{"completed", 1, 0, 0, 1})
	if want := map[string]int{"priority": 1, "backoff": 1, "deduplication": 1}; !maps.Equal(reasons(r.Lost), want) {
		t.Errorf("lost %v, want %v", r.Lost, want)
	}
	if want := map[string]int{flow: 2, "of a job scheduler: dueq has Repeat instead": 1, "failed for good": 1, "done": 1}; !maps.Equal(reasons(r.Skipped), want) || r.Refused() != 0 {
		t.Errorf("skipped %v, want %v", r.Skipped, want)
	}
	checkCopies(t, client,
		copyOf{`{"n":"delayed"}`, dueq.Scheduled, recordedDelayed, 1, "Migrated-From=bullmq:hooks:order-42 Migrated-Type=delayed "},
		copyOf{`{"n":"retried"}`, dueq.Scheduled, recordedBackoff, 4, "Migrated-From=bullmq:hooks:3 Migrated-Type=retried "},
		copyOf{`{"n":"waiting"}`, dueq.Ready, 0, 1, "Migrated-From=bullmq:hooks:5 Migrated-Type=waiting "},
		copyOf{`{"n":"lifo"}`, dueq.Ready, 0, 1, "Migrated-From=bullmq:hooks:6 Migrated-Type=lifo "},
		copyOf{`{"n":"first"}`, dueq.Ready, 0, 1, "Migrated-From=bullmq:hooks:7 Migrated-Type=first "},
	)
}

// TestRun_BullMQJobsOfAPausedQueue has the list that versions before 6 use for a queue that is paused.
func TestRun_BullMQJobsOfAPausedQueue(t *testing.T) {
	t.Parallel()
	o, client := newOrigin(t), dueqtest.NewAt(t, recordedAt)
	o.load("bullmq-6.7.0.jsonl")
	o.do("RENAME", "bull:hooks:wait", "bull:hooks:paused")
	check(t, o.copyTo(client, Config{Kind: "bullmq", Name: "hooks"}), 5,
		State{"delayed", 2, 2, 0, 0}, State{"prioritized", 1, 1, 0, 0}, State{"paused", 4, 2, 0, 2},
		State{"waiting-children", 1, 0, 0, 1}, State{"failed", 1, 0, 0, 1}, State{"completed", 1, 0, 0, 1})
}

// TestRun_MessagesThatConsumersHold has tests for the libraries whose consumers hold messages in a
// list.
func TestRun_MessagesThatConsumersHold(t *testing.T) {
	t.Parallel()
	for kind, test := range map[string]struct{ name, file, from, to, state string }{
		"asynq":  {"default", "asynq-0.26.0.jsonl", "asynq:{default}:pending", "asynq:{default}:active", "active"},
		"bullmq": {"hooks", "bullmq-6.7.0.jsonl", "bull:hooks:wait", "bull:hooks:active", "active"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			o, client := newOrigin(t), dueqtest.NewAt(t, recordedAt)
			o.load(test.file)
			o.do("LMOVE", test.from, test.to, "RIGHT", "LEFT")
			c := Config{Kind: kind, Name: test.name}
			r := o.copyTo(client, c)
			if got := stateOf(r, test.state); got != (State{test.state, 1, 0, 0, 1}) || reasons(r.Skipped)[held] != 1 {
				t.Errorf("%+v, skipped %v", got, r.Skipped)
			}
			c.Active = true
			r = o.copyTo(client, c)
			if got := stateOf(r, test.state); got != (State{test.state, 1, 1, 0, 0}) || r.Sent != 1 {
				t.Errorf("with those that are held: %+v, %d sent", got, r.Sent)
			}
		})
	}
}

func stateOf(r Result, name string) State {
	i := slices.IndexFunc(r.States, func(s State) bool { return s.State == name })
	return r.States[i]
}

// enqueue writes a message with the commands that delayqueue sends, and then puts its id into
// another set, if it is to be in another state.
func (o *origin) enqueue(family, bodies, id, body string, due time.Time, retries int, move ...any) {
	o.t.Helper()
	o.do("SET", bodies+":msg:"+id, body, "EX", 3600)
	o.do("HSET", family+":retry:cnt", id, retries)
	if len(move) > 0 {
		o.do(move...)
		return
	}
	o.do("ZADD", family+":pending", due.Unix(), id)
}

// TestRun_DelayqueueMessages covers the three forms of its keys.
func TestRun_DelayqueueMessages(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ prefix, family, bodies string }{
		"plain":      {"", "dp:orders", "dp:orders"},
		"a hash tag": {"", "{dp:orders}", "{dp:orders}"},
		"a prefix":   {"app", "app:orders", "dp:orders"},
		"a prefix, and a version that uses it for bodies": {"app", "{app:orders}", "{app:orders}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, client := newOrigin(t), dueqtest.NewAt(t, recordedAt)
			due := recordedAt.Add(time.Hour)
			o.enqueue(test.family, test.bodies, "1", "pending", due, 3)
			o.enqueue(test.family, test.bodies, "2", "ready", due, 0, "LPUSH", test.family+":ready", "2")
			o.enqueue(test.family, test.bodies, "3", "retry", due, 2, "LPUSH", test.family+":retry", "3")
			o.enqueue(test.family, test.bodies, "4", "held", due, 1, "ZADD", test.family+":unack", due.Unix(), "4")
			o.do("ZADD", test.family+":pending", due.Unix(), "5")
			o.do("SADD", test.family+":garbage", "6", "7")
			c := Config{Kind: "delayqueue", Name: "orders", Prefix: test.prefix}
			r := o.copyTo(client, c)
			check(t, r, 3, State{"pending", 2, 1, 0, 1}, State{"ready", 1, 1, 0, 0}, State{"unack", 1, 0, 0, 1}, State{"retry", 1, 1, 0, 0}, State{"garbage", 2, 0, 0, 2})
			if want := map[string]int{gone: 1, held: 1, "failed for good": 2}; !maps.Equal(reasons(r.Skipped), want) {
				t.Errorf("skipped %v, want %v", r.Skipped, want)
			}
			c.Active = true
			check(t, o.copyTo(client, c), 1, State{"pending", 2, 0, 1, 1}, State{"ready", 1, 0, 1, 0}, State{"unack", 1, 1, 0, 0}, State{"retry", 1, 0, 1, 0}, State{"garbage", 2, 0, 0, 2})
			checkCopies(t, client,
				copyOf{"pending", dueq.Scheduled, due.UnixMilli(), 4, "Migrated-From=delayqueue:orders:1 "},
				copyOf{"ready", dueq.Ready, 0, 1, "Migrated-From=delayqueue:orders:2 "},
				copyOf{"retry", dueq.Ready, 0, 3, "Migrated-From=delayqueue:orders:3 "},
				copyOf{"held", dueq.Scheduled, due.UnixMilli(), 2, "Migrated-From=delayqueue:orders:4 "},
			)
		})
	}
}

// many writes messages of delayqueue: half of them pending, half of them ready.
func (o *origin) many(n int) {
	o.t.Helper()
	for i := range n {
		id := strconv.Itoa(i)
		var move []any
		if i%2 == 1 {
			move = []any{"LPUSH", "dp:many:ready", id}
		}
		o.enqueue("dp:many", "dp:many", id, id, recordedAt.Add(time.Hour), 3, move...)
	}
}

// TestRun_RefusedByAFullQueue runs again after an error in the middle.
func TestRun_RefusedByAFullQueue(t *testing.T) {
	t.Parallel()
	o, client := newOrigin(t), dueqtest.NewAt(t, recordedAt)
	const n, most = 700, 300
	o.many(n)
	q := client.Queue("to")
	if err := q.Create(t.Context(), dueq.Settings{MaxMessages: most}); err != nil {
		t.Fatal(err)
	}
	c := Config{Kind: "delayqueue", From: o.url, Name: "many", To: q}
	r, err := Run(t.Context(), c)
	if !errors.Is(err, dueq.ErrQueueFull) || r.Sent == 0 || r.Sent > most {
		t.Fatalf("%v, %d sent, want a full queue", err, r.Sent)
	}
	if _, err := q.Update(t.Context(), func(s *dueq.Settings) { s.MaxMessages = 0 }); err != nil {
		t.Fatal(err)
	}
	again := o.copyTo(client, c)
	if again.Missing() != 0 || again.Sent == 0 || len(byBody(t, client)) != n {
		t.Errorf("%+v: %d messages, want %d", again, len(byBody(t, client)), n)
	}
}

// TestRun_CopiesThatAreDone are not copied again.
func TestRun_CopiesThatAreDone(t *testing.T) {
	t.Parallel()
	o, client := newOrigin(t), dueqtest.NewAt(t, recordedAt)
	o.many(10)
	c := Config{Kind: "delayqueue", Name: "many", Keys: true}
	o.copyTo(client, c)
	done := client.Deliver("to", func(context.Context, *dueq.Delivery) error { return nil })
	client.Advance(23 * time.Hour)
	done += client.Deliver("to", func(context.Context, *dueq.Delivery) error { return nil })
	if r := o.copyTo(client, c); r.Sent != 0 || done != 10 {
		t.Errorf("%+v after %d were done, want none sent", r, done)
	}
}

// TestRun_LargeSets has lists and sorted sets of several pages, to which a producer adds during the
// copy.
func TestRun_LargeSets(t *testing.T) {
	t.Parallel()
	o, client := newOrigin(t), dueqtest.NewAt(t, recordedAt)
	const n = 2*pageSize + 2*pageSize/2
	o.many(n)
	ctx, stop := context.WithCancel(t.Context())
	looks := 0
	r, err := Run(ctx, Config{
		Kind: "delayqueue", From: o.url, Name: "many", To: client.Queue("to"), Follow: true, Interval: 1,
		Looked: func(r Result) {
			switch looks++; looks {
			case 1:
				o.enqueue("dp:many", "dp:many", "late", "late", recordedAt, 3, "LPUSH", "dp:many:ready", "late")
			case 2:
				if r.Sent != n+1 {
					t.Errorf("%d sent after the second look, want %d", r.Sent, n+1)
				}
				o.enqueue("dp:many", "dp:many", "last", "last", recordedAt, 3)
				stop()
			}
		},
		Failed: func(err error) { t.Error(err) },
	})
	if err != nil || looks != 2 {
		t.Fatalf("%v after %d looks", err, looks)
	}
	check(t, r, n+2, State{"pending", n/2 + 1, n/2 + 1, 0, 0}, State{"ready", n/2 + 1, n/2 + 1, 0, 0})
	if got := len(byBody(t, client)); got != n+2 {
		t.Errorf("%d messages, want %d", got, n+2)
	}
}

// TestRun_Refusals are counted with their reasons, and the rest is copied.
func TestRun_Refusals(t *testing.T) {
	t.Parallel()
	o, client := newOrigin(t), dueqtest.NewAt(t, recordedAt)
	client.Send("to", dueq.Message{Key: "taken", Body: []byte("own")})
	due := recordedAt.Add(time.Hour)
	o.enqueue("dp:q", "dp:q", "fine", "fine", due, 3)
	o.enqueue("dp:q", "dp:q", "taken", "x", due, 3)
	o.enqueue("dp:q", "dp:q", "large", strings.Repeat("x", 1<<20), due, 3)
	o.enqueue("dp:q", "dp:q", "far", "x", recordedAt.AddDate(20, 0, 0), 3)
	o.enqueue("dp:q", "dp:q", "control\x07", "x", due, 3)
	r := o.copyTo(client, Config{Kind: "delayqueue", Name: "q", Keys: true})
	check(t, r, 1, State{"pending", 5, 1, 0, 4})
	if r.Refused() != 4 || len(r.Skipped) != 4 {
		t.Errorf("refused %+v, want 4 reasons", r.Skipped)
	}
	for _, s := range r.Skipped {
		if id, text, _ := strings.Cut(s.First, ": "); id == "" || text == "" {
			t.Errorf("%q has no example", s.Reason)
		}
	}
}

func TestRun_OneType(t *testing.T) {
	t.Parallel()
	o, client := newOrigin(t), dueqtest.NewAt(t, recordedAt)
	o.load("asynq-0.26.0.jsonl")
	r := o.copyTo(client, Config{Kind: "asynq", Name: "default", Type: "email:welcome"})
	if r.Sent != 2 || reasons(r.Skipped)["of another type"] != 2 || r.Refused() != 0 {
		t.Errorf("%+v, want 2 sent, 2 of another type", r)
	}
}

// TestRun_JobsOfTwoServersWithTheSameIDs are both copied: BullMQ counts from 1.
func TestRun_JobsOfTwoServersWithTheSameIDs(t *testing.T) {
	t.Parallel()
	client := dueqtest.NewAt(t, recordedAt)
	for i := range 2 {
		o := newOrigin(t)
		o.do("HSET", "bull:q:1", "name", "n", "data", strconv.Itoa(i), "opts", `{"attempts":0}`, "timestamp", 1000+i)
		o.do("LPUSH", "bull:q:wait", "1")
		check(t, o.copyTo(client, Config{Kind: "bullmq", Name: "q"}), 1, State{"wait", 1, 1, 0, 0})
	}
}

func TestRun_Errors(t *testing.T) {
	t.Parallel()
	o, client := newOrigin(t), dueqtest.NewAt(t, recordedAt)
	for name, test := range map[string]struct {
		c    Config
		want error
	}{
		"no such queue":   {Config{Kind: "asynq", Name: "misspelt", From: o.url}, dueq.ErrNotFound},
		"unknown library": {Config{Kind: "celery", Name: "q", From: o.url}, dueq.ErrInvalid},
		"no URL of Redis": {Config{Kind: "asynq", Name: "q", From: "http://localhost"}, dueq.ErrInvalid},
		"unreachable":     {Config{Kind: "asynq", Name: "q", From: "unix:///nowhere?max_retries=-1"}, dueq.ErrUnavailable},
	} {
		test.c.To = client.Queue("to")
		if _, err := Run(t.Context(), test.c); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

func TestDecodeTask(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want string
	}{
		"empty":             {"", "error"},
		"no type":           {"\x12\x01x", "error"},
		"a type":            {"\x0a\x01t", "t  0"},
		"unknown fields":    {"\x0a\x01t\xa0\x06\x05\xa1\x0612345678\xa5\x061234\xa2\x06\x01x", "t  0"},
		"a cut varint":      {"\x0a\x01t\x28\xff", "error"},
		"a cut string":      {"\x0a\x01t\x12\x05x", "error"},
		"a length of 2^63":  {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7fx", "error"},
		"a group":           {"\x0a\x01t\x0b", "error"},
		"a negative number": {"\x0a\x01t\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "error"},
		"the last wins":     {"\x0a\x01t\x0a\x01u\x12\x01x\x28\x05", "u x 5"},
	} {
		got, err := decodeTask([]byte(test.text))
		text := "error"
		if err == nil {
			text = fmt.Sprint(got.kind, " ", string(got.payload), " ", got.retry)
		}
		if text != test.want {
			t.Errorf("%s: %s, %v, want %s", name, text, err, test.want)
		}
	}
}

func FuzzDecodeTask(f *testing.F) {
	f.Add([]byte("\x0a\x01t\x12\x01x\x28\x05\x7a\x06\x0a\x01a\x12\x01b"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if e := asynqEntry(text); e.skip == "" && (e.kind == "" || e.attempts > 1<<31+1 || e.attempts < -(1<<31)) {
			t.Errorf("%+v", e)
		}
	})
}

func FuzzBullEntry(f *testing.F) {
	f.Add("7", "name", "{}", `{"attempts":3,"backoff":{}}`, "1")
	f.Fuzz(func(t *testing.T, id, name, data, options, made string) {
		var fields [jobFields]string
		fields[jobName], fields[jobData], fields[jobOptions], fields[jobMade] = name, data, options, made
		if e := bullEntry(id, fields); e.skip == "" && (string(e.body) != data || e.kind != name) {
			t.Errorf("%+v", e)
		}
	})
}
