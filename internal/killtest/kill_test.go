// Package killtest replays a flight schedule through real processes and kills them.
package killtest

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/measure"
	"github.com/dueq-dev/dueq/internal/redistest"
)

var (
	speed = flag.Float64("speed", 500_000, "how many times faster than real time the schedule is replayed")
	kills = flag.Int("kills", 20, "SIGKILLs of producers, and as many of consumers")
)

const roleEnv = "DUEQ_KILLTEST_JOB"

func TestMain(m *testing.M) {
	if text := os.Getenv(roleEnv); text != "" {
		var j job
		err := json.Unmarshal([]byte(text), &j)
		if err == nil {
			err = runRole(context.Background(), j)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, j.Role+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(redistest.Main(m))
}

// TestKill kills producers and consumers with SIGKILL while the schedule is replayed. Every flight
// is delivered, none early, and the audit at the end finds no problem.
func TestKill(t *testing.T) {
	t.Parallel()
	r := newReplay(t)
	r.run(t)
	r.judge(t)
}

// replayed is one replay: its processes and the files that they write.
type replayed struct {
	dir     string
	store   string
	flights []flight
	queue   *dueq.Queue
}

func newReplay(t *testing.T) *replayed {
	t.Helper()
	server := redistest.Start(t, "--appendonly", "yes")
	r := &replayed{dir: t.TempDir(), store: "redis://" + server.Addr()}
	r.flights = replay(schedule(t), time.Now().Add(lead), *speed)
	data, err := json.Marshal(r.flights)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.path("flights"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := dueq.Open(t.Context(), r.store, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	r.queue = client.Queue(queueName)
	return r
}

func (r *replayed) path(name string) string { return filepath.Join(r.dir, name) }

// run replays the whole schedule and kills a producer and a consumer again and
// again, evenly over the time the schedule takes.
func (r *replayed) run(t *testing.T) {
	t.Helper()
	takes := r.flights[len(r.flights)-1].Due.Sub(r.flights[0].Due)
	producer := r.start(t, "producer")
	consumers := []*exec.Cmd{r.start(t, "consumer"), r.start(t, "consumer")}
	ticker := time.NewTicker(takes / time.Duration(*kills+1))
	defer ticker.Stop()
	for i := range *kills {
		<-ticker.C
		kill(producer)
		producer = r.start(t, "producer")
		victim := &consumers[i%len(consumers)]
		kill(*victim)
		*victim = r.start(t, "consumer")
	}
	if err := producer.Wait(); err != nil {
		t.Errorf("the last producer: %v", err)
	}
	r.drained(t)
	for _, c := range consumers {
		kill(c)
	}
}

// drained waits until nothing is scheduled, ready or leased.
func (r *replayed) drained(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		s, err := r.queue.Stats(ctx)
		if err != nil {
			t.Fatalf("not drained: %v", err)
		}
		if s.Scheduled+s.Ready+s.Leased == 0 {
			return
		}
		<-ticker.C
	}
}

func (r *replayed) start(t *testing.T, role string) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(job{
		Role: role, Store: r.store, Flights: r.path("flights"), Progress: r.path("progress"), Log: r.path("log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), roleEnv+"="+string(text))
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(c) })
	return c
}

// kill sends SIGKILL and reaps the process; both fail harmlessly when it has ended.
func kill(c *exec.Cmd) {
	_ = c.Process.Kill()
	_ = c.Wait()
}

// judge compares the log of the handlers with the schedule.
func (r *replayed) judge(t *testing.T) {
	t.Helper()
	seen := map[string]int{}
	early := 0
	var lateness []time.Duration
	for _, d := range r.deliveries(t) {
		seen[d.key]++
		late := d.at.Sub(d.due)
		if late < 0 {
			early++
		}
		if d.attempt == 1 {
			lateness = append(lateness, late)
		}
	}
	lost := map[string]bool{}
	total := 0
	for _, f := range r.flights {
		if seen[f.Key] == 0 {
			lost[f.Key] = true
		}
	}
	for _, n := range seen {
		total += n
	}
	s, err := r.queue.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// A repeated delivery needs a failure, a lease that ran out, or a batch sent again.
	bound := s.Counters.Nacked + s.Counters.LeaseLost + int64(*kills*batch)
	repeated := int64(total - len(seen))
	t.Logf("kill -9: %d producers, %d consumers; %d flights sent, %d deliveries, %d lost, %d repeated (bound %d), %d early; "+
		"lateness %s", *kills, *kills, s.Counters.Sent, total, len(lost), repeated, bound, early, measure.SpreadOf(lateness))
	if len(lost) > 0 || early > 0 || repeated > bound || s.Dead > 0 {
		t.Errorf("lost %d, early %d, repeated %d (bound %d), dead %d: want none lost, early or dead", len(lost), early, repeated, bound, s.Dead)
	}
	report, err := r.queue.Check(t.Context())
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("check: %v %v", report.Problems, err)
	}
}

type delivery struct {
	key     string
	attempt int
	due, at time.Time
}

func (r *replayed) deliveries(t *testing.T) []delivery {
	t.Helper()
	f, err := os.Open(r.path("log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var all []delivery
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var d delivery
		var due, at int64
		if _, err := fmt.Fscanf(strings.NewReader(lines.Text()), "%s %d %d %d", &d.key, &d.attempt, &due, &at); err != nil {
			t.Fatalf("log line %q: %v", lines.Text(), err)
		}
		d.due, d.at = time.UnixMilli(due), time.UnixMicro(at)
		all = append(all, d)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
