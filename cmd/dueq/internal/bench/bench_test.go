package bench_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/bench"
	"github.com/dueq-dev/dueq/internal/rawredis"
	"github.com/dueq-dev/dueq/internal/redistest"
)

func TestMain(m *testing.M) {
	code := redistest.Main(m)
	if err := goleak.Find(); err != nil && code == 0 {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}

// tiny is the configuration of a short run.
func tiny(client *dueq.Client, server *rawredis.Server) bench.Config {
	return bench.Config{
		Client: client, Server: server, Mode: bench.All, Messages: 250, Body: 20, Producers: []int{1, 3},
		Concurrency: 5, Partitions: 2, Backlog: 120, Rounds: 2, For: 300 * time.Millisecond, Progress: func(string, int, int) {},
	}
}

// onRedis returns the configuration of a tiny run with a prefix of its own.
func onRedis(t *testing.T, server *redistest.Server, prefix string) bench.Config {
	t.Helper()
	client := opened(t)(dueq.NewRedis(server.Client(t), &dueq.Options{Prefix: prefix, Logger: slog.New(slog.DiscardHandler)}))
	url := "redis://" + server.Addr()
	if strings.HasPrefix(server.Addr(), "/") {
		url = "unix://" + server.Addr()
	}
	behind, err := rawredis.Dial(url, prefix)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(client.Close(), behind.Close()); err != nil {
			t.Error(err)
		}
	})
	return tiny(client, behind)
}

func leftBehind(t *testing.T, server *redistest.Server, prefix string) []string {
	t.Helper()
	keys, err := server.Client(t).Keys(t.Context(), prefix+":*").Result()
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestRun_AllModesOnRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t) // so that other tests do not change its figures
	r, err := bench.Run(t.Context(), onRedis(t, server, "b"))
	if err != nil {
		t.Fatal(err)
	}
	for name, series := range map[string]*bench.Series{
		"send": r.Send, "drain": &r.Drain.Series, "one by one": &r.Single[0].Series, "3 by 3": &r.Single[1].Series,
		"the floor's send": r.Floor.Send, "the floor's drain": &r.Floor.Drain.Series,
	} {
		checkSeries(t, name, series)
	}
	if got := r.Single[1].Producers; got != 3 || r.Single[1].Ratio.Median <= 0 || r.Single[1].FloorPerS <= 0 {
		t.Errorf("singles are %+v", r.Single[1])
	}
	if r.Floor.Send.Sent < 0.01 || r.Floor.Send.Sent > 0.02 {
		t.Errorf("the floor sent %v commands for each message, want one for each 100", r.Floor.Send.Sent)
	}
	if body := bench.Figure(20); r.Floor.Send.In < body || r.Floor.Drain.Out < body || r.Send.In < body || r.Drain.Out < body {
		t.Errorf("fewer bytes than the bodies have: in %v, %v, out %v, %v", r.Floor.Send.In, r.Send.In, r.Floor.Drain.Out, r.Drain.Out)
	}
	if life := r.Life.StoreCPU; life < r.Send.StoreCPU || life < r.Drain.StoreCPU || r.Floor.LifeStoreCPU <= 0 {
		t.Errorf("the whole life takes %v us, the floor %v", life, r.Floor.LifeStoreCPU)
	}
	if r.Memory.Messages != 250 {
		t.Errorf("memory is %+v", r.Memory)
	}
	for name, ratio := range map[string]*bench.Ratio{"send": r.Ratio.Send, "drain": r.Ratio.Drain, "life": r.Ratio.Life} {
		if ratio == nil || ratio.Min <= 0 || ratio.Min > ratio.Median || ratio.Median > ratio.Max {
			t.Errorf("ratio of %s is %+v", name, ratio)
		}
	}
	for _, p := range []bench.Ping{r.Drain.Ping, r.Floor.Drain.Ping} {
		if p.P50 <= 0 || p.P50 > p.P99 || p.P99 > p.Max {
			t.Errorf("pings are %+v", p)
		}
	}
	checkLateness(t, r.Lateness)
	if i := r.Idle; i.Sent < 0 || i.Executed < i.Sent || i.StoreCPU < 0 {
		t.Errorf("idle is %+v", i)
	}
	if keys := leftBehind(t, server, "b"); len(keys) > 0 {
		t.Errorf("left behind: %v", keys)
	}
}

// TestRun_MemoryOfAMessage uses enough messages for other memory of the server and of this process to
// be small in comparison. It is not parallel.
func TestRun_MemoryOfAMessage(t *testing.T) { //nolint:paralleltest // it looks at the heap
	const messages, body = 20_000, 20
	measure := func(c bench.Config) *bench.Report {
		c.Mode, c.Messages, c.Backlog = bench.Memory, messages, 0
		r, err := bench.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := measure(onRedis(t, redistest.Start(t), "memory"))
	if r.Memory.Bytes < body || r.Memory.Bytes > 1000 || r.Floor.Memory < body || r.Ratio.Memory <= 0 {
		t.Errorf("in Redis %+v, floor %v, ratio %v", r.Memory, r.Floor.Memory, r.Ratio.Memory)
	}
	client := opened(t)(dueq.NewMemory(nil))
	t.Cleanup(func() { _ = client.Close() })
	if r := measure(tiny(client, nil)); r.Memory.Bytes < body || r.Memory.Bytes > 2000 {
		t.Errorf("on the heap %+v", r.Memory)
	}
}

func checkSeries(t *testing.T, name string, s *bench.Series) {
	t.Helper()
	if s == nil || len(s.Rounds) != 2 {
		t.Errorf("%s is %+v, want 2 rounds", name, s)
		return
	}
	for _, l := range append([]bench.Load{s.Load}, s.Rounds...) {
		if l.PerS <= 0 || l.StoreCPU <= 0 || l.ClientCPU <= 0 || l.Sent <= 0 || l.Executed <= l.Sent || l.In <= 0 || l.Out <= 0 {
			t.Errorf("%s is %+v", name, l)
		}
	}
}

func checkLateness(t *testing.T, l *bench.Late) {
	t.Helper()
	if l.Early != 0 || l.Again != 0 || l.Messages != 150 || l.Min < 0 || l.Min > l.P50 || l.P50 > l.P99 || l.P99 > l.P999 || l.P999 > l.Max {
		t.Errorf("lateness is %+v", l)
	}
}

func TestRun_AllModesInMemory(t *testing.T) {
	t.Parallel()
	client := opened(t)(dueq.NewMemory(nil))
	t.Cleanup(func() { _ = client.Close() })
	r, err := bench.Run(t.Context(), tiny(client, nil))
	if err != nil {
		t.Fatal(err)
	}
	checkLateness(t, r.Lateness)
	if r.Send.PerS <= 0 || r.Send.ClientCPU <= 0 || r.Drain.PerS <= 0 || len(r.Single) != 2 {
		t.Errorf("send %+v, drain %+v, singles %+v", r.Send.Load, r.Drain.Load, r.Single)
	}
	line, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`"store_cpu_us":null`, `"bytes_in":null`, `"commands_per_s":null`, `"send_store_cpu_us":null`, `"ratio_per_s":null`, `"slow_calls":null`} {
		if !strings.Contains(string(line), text) {
			t.Errorf("%s is not in %s", text, line)
		}
	}
	stats, err := client.Stats(t.Context())
	if err != nil || len(stats) != 0 {
		t.Errorf("left behind: %+v, %v", stats, err)
	}
}

func TestRun_EachModeMeasuresItsOwnOperation(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{
		bench.Send: "send send_single", bench.Drain: "drain", bench.Memory: "memory", bench.Lateness: "lateness_ms", bench.Idle: "idle",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c := onRedis(t, redistest.Shared(t), redistest.Prefix())
			c.Mode, c.Messages, c.Backlog, c.Rounds = mode, 20, 0, 1
			r, err := bench.Run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			line, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			var fields map[string]any
			if err := json.Unmarshal(line, &fields); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, name := range []string{"send", "send_single", "drain", "memory", "lateness_ms", "idle"} {
				if fields[name] != nil {
					got = append(got, name)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("it has %v, want %s", got, want)
			}
		})
	}
}

func TestRun_QueueThatIsNotEmptyIsRefused(t *testing.T) {
	t.Parallel()
	server, prefix := redistest.Shared(t), redistest.Prefix()
	c := onRedis(t, server, prefix)
	q := c.Client.Queue("bench-idle") // the last queue of the run
	id, err := q.Send(t.Context(), dueq.Message{Body: []byte("mine"), Delay: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	before := len(leftBehind(t, server, prefix))
	if _, err := bench.Run(t.Context(), c); !errors.Is(err, bench.ErrNotEmpty) || !strings.Contains(err.Error(), `"bench-idle"`) {
		t.Errorf("error is %v, want one that names the queue", err)
	}
	if m, err := q.Get(t.Context(), dueq.ID(id)); err != nil || string(m.Body) != "mine" {
		t.Errorf("the message became %+v, %v", m, err)
	}
	if after := leftBehind(t, server, prefix); len(after) != before {
		t.Errorf("keys are %v, want the %d that were there", after, before)
	}
}

// TestRun_InterruptedRunLeavesNothing interrupts the run at the beginning and in the middle of every
// stage.
func TestRun_InterruptedRunLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, stage := range []string{
		"measure memory", "load the backlog", "warm up", "send and drain", "send one by one", "watch lateness", "watch an idle consumer",
	} {
		for _, after := range []time.Duration{0, 100 * time.Millisecond} {
			t.Run(stage+" "+after.String(), func(t *testing.T) {
				t.Parallel()
				server, prefix := redistest.Shared(t), redistest.Prefix()
				c := onRedis(t, server, prefix)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				reached := sync.OnceFunc(func() { time.AfterFunc(after, cancel) })
				c.Messages, c.Backlog, c.Rounds, c.For = 2000, 2000, 100, time.Minute
				c.Mode = map[string]string{
					"measure memory": bench.Memory, "watch lateness": bench.Lateness, "watch an idle consumer": bench.Idle,
				}[stage]
				if c.Mode == "" {
					c.Mode = bench.Send
				}
				if stage == "send one by one" {
					c.Messages, c.Backlog, c.Rounds = 20, 0, 2
				}
				if stage == "measure memory" {
					c.Messages = 1_000_000
				}
				c.Progress = func(what string, _, _ int) {
					if what == stage {
						reached()
					}
				}
				_, err := bench.Run(ctx, c)
				if err != nil && !errors.Is(err, context.Canceled) || err == nil && stage != "send one by one" {
					t.Errorf("error is %v, want that of the context", err)
				}
				if keys := leftBehind(t, server, prefix); len(keys) > 0 {
					t.Errorf("left behind: %v", keys)
				}
			})
		}
	}
}

func TestRun_ServerWithoutMemoryIsRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxmemory", "20mb")
	c := onRedis(t, server, "b")
	c.Messages = 100_000
	_, err := bench.Run(t.Context(), c)
	if !errors.Is(err, dueq.ErrQueueFull) || !strings.Contains(err.Error(), "MiB") {
		t.Errorf("error is %v, want one that names the bytes needed and the limit", err)
	}
	if keys := leftBehind(t, server, "b"); len(keys) > 0 {
		t.Errorf("left behind: %v", keys)
	}
}

func TestReport_Text(t *testing.T) {
	t.Parallel()
	c := onRedis(t, redistest.Shared(t), redistest.Prefix())
	c.Messages, c.Backlog, c.Rounds = 20, 0, 1
	server, err := c.Server.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := bench.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	r.Store = "redis://\x1b[31m"
	text := r.Text()
	for _, want := range []string{
		"redis://\\x1b[31m, " + server.Version + "; ", "20 messages of 20 bytes, 2 partitions, backlog 0; median of 1 round",
		"\nPER MESSAGE ", "\nsend, batches of 100 ", "\nsend, 1 goroutine ", "\nsend, 3 goroutines ", "\ndrain, 5 handlers ", "\n  floor ",
		"\nstore CPU both ", "\nsend and drain  CPU us", "\nwhile draining ", "\nmemory ", "\nlateness ", "; 0 early, of 150 at 500/s", "\nidle ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") || strings.Contains(text, "NaN") {
		t.Errorf("the text is not for people: %q", text)
	}
}

// opened returns a function that takes the result of a constructor, and fails the test on
// an error.
func opened(tb testing.TB) func(*dueq.Client, error) *dueq.Client {
	tb.Helper()
	return func(c *dueq.Client, err error) *dueq.Client {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return c
	}
}
