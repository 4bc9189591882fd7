package killtest

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded"
	"github.com/dueq-dev/dueq/store/redisstore"
)

// roleRecurring is the role of processes that declare all series and consume them.
const roleRecurring = "recurring"

const (
	seriesCount = 12
	seriesEvery = time.Second
	seriesLease = time.Second
	seriesTakes = 250 * time.Millisecond // a handler
	seriesKills = 8
)

// recur declares all series, as programs do whenever they start, and logs the start and the
// end of each handler with one write. Half of the series catch up. Some occurrences fail, some
// of them for good.
func recur(ctx context.Context, j job) error {
	s, err := openStore(ctx, j.Store)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	client, err := dueq.New(&mortal{Store: s, settles: j.Settles}, nil) //nolint:contextcheck // New makes no calls, so it has no context
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	q := client.Queue(queueName)
	log, err := os.OpenFile(j.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	for i := range seriesCount {
		m := dueq.Message{Key: fmt.Sprint("series-", i), Repeat: dueq.Repeat{Every: seriesEvery, CatchUp: i%2 == 0}, MaxAttempts: 2}
		m.Delay = seriesEvery * time.Duration(i+1) / seriesCount // of the first, so that they do not all run at a time
		if _, err := q.Send(ctx, m); err != nil {
			return err
		}
	}
	note := func(event string, d *dueq.Delivery) error {
		_, err := fmt.Fprintf(log, "%s %s %s %d %d %d %d %d\n", event, d.Key, d.ID, d.Token, d.Attempt, d.Due.UnixMilli(), time.Now().UnixMicro(), os.Getpid())
		return err
	}
	handler := func(ctx context.Context, d *dueq.Delivery) error {
		if err := note("start", d); err != nil {
			return err
		}
		if err := until(ctx, time.Now().Add(seriesTakes)); err != nil {
			return err
		}
		if err := note("end", d); err != nil {
			return err
		}
		if d.Token%5 < 2 {
			return errors.New("gate closed")
		}
		return nil
	}
	return q.Consume(ctx, handler, dueq.ConsumeOptions{
		Concurrency: seriesCount, Lease: seriesLease,
		Backoff: func(*dueq.Delivery, error) time.Duration { return 50 * time.Millisecond },
	})
}

func openStore(ctx context.Context, url string) (store.Store, error) {
	if dir, ok := strings.CutPrefix(url, "file:"); ok {
		return embedded.Open(ctx, dir, embedded.Config{})
	}
	return redisstore.Open(url, redisstore.Config{})
}

// mortal is a store that kills its process as soon as a number of settles have been answered: if a
// client made a verdict in several steps, it would not get beyond the first.
type mortal struct {
	store.Store
	settles  int // 0: it does not kill
	answered atomic.Int64
}

func (m *mortal) Settle(ctx context.Context, p store.Partition, r store.SettleRequest) ([]store.Code, error) {
	codes, err := m.Store.Settle(ctx, p, r)
	if err != nil || m.answered.Add(1) != int64(m.settles) {
		return codes, err
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return nil, err
	}
	if err := self.Kill(); err != nil {
		return nil, err
	}
	select {} // until the signal has arrived
}

// run is what the log says about one delivery.
type run struct {
	key, id    string
	token      int64
	attempt    int
	due        time.Time
	start, end time.Time // end is zero if there is none in the log
	process    int
}

// TestKill_RecurringMessages kills processes that consume series, at random and when the store has
// just answered a verdict: no occurrence has
// two holders at a time, none is early or left out without the reasons that are documented, and
// each series continues, as one message.
func TestKill_RecurringMessages(t *testing.T) {
	t.Parallel()
	for name, url := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			consumers := 3
			if name == "file" { // only one process can open it at a time
				consumers = 1
			}
			r := &recurring{url: url, log: filepath.Join(t.TempDir(), "log"), killed: map[int]time.Time{}}
			r.kill(t, consumers)
			runs := r.runs(t)
			byKey := map[string][]run{}
			for _, one := range runs {
				byKey[one.key] = append(byKey[one.key], one)
			}
			for _, key := range byKey {
				r.judge(t, key)
			}
			if len(byKey) != seriesCount {
				t.Errorf("%d series have run, want %d", len(byKey), seriesCount)
			}
			onQueue(t, url, func(q *dueq.Queue) { wantSeries(t, q, byKey) })
		})
	}
}

// recurring is one run of the test, on one store.
type recurring struct {
	url, log string
	killed   map[int]time.Time // when the kill of a process began
}

// kill starts processes, kills them at random and replaces them. Then it waits until each series has
// had another occurrence, and ends all processes.
func (r *recurring) kill(t *testing.T, n int) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, seed))
	processes := make([]*exec.Cmd, n)
	for i := range processes {
		processes[i] = r.start(t, 0)
	}
	end := func(i int) {
		r.killed[processes[i].Process.Pid] = time.Now()
		kill(processes[i])
	}
	for range seriesKills {
		timer := time.NewTimer(time.Duration(rng.IntN(500)) * time.Millisecond)
		<-timer.C
		i := rng.IntN(n)
		r.await(t, "a handler that runs", func(runs []run) bool {
			return slices.ContainsFunc(runs, func(one run) bool { return one.process == processes[i].Process.Pid && one.end.IsZero() })
		})
		end(i)
		r.dieOfSettle(t, 1+rng.IntN(seriesCount))
		processes[i] = r.start(t, 0)
	}
	last := time.Now()
	r.await(t, "all series to continue after the last kill", func(runs []run) bool {
		went := map[string]bool{}
		for _, one := range runs {
			if one.end.After(last) {
				went[one.key] = true
			}
		}
		return len(went) == seriesCount
	})
	for i := range processes {
		end(i)
	}
}

// dieOfSettle runs a process until it kills itself.
func (r *recurring) dieOfSettle(t *testing.T, settles int) {
	t.Helper()
	c := r.start(t, settles)
	late := time.AfterFunc(time.Minute, func() { _ = c.Process.Kill() })
	err := c.Wait()
	r.killed[c.Process.Pid] = time.Now()
	if exit := (*exec.ExitError)(nil); !late.Stop() || !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("the process did not kill itself at its settle %d: %v", settles, err)
	}
}

// start starts a process that kills itself after a number of settles, if that is not 0.
func (r *recurring) start(t *testing.T, settles int) *exec.Cmd {
	t.Helper()
	c := child(t, job{Role: roleRecurring, Store: r.url, Log: r.log, Settles: settles})
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(c) })
	return c
}

// await waits until something is in the log.
func (r *recurring) await(t *testing.T, what string, is func(runs []run) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !is(r.runs(t)) {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("waited a minute for %s", what)
		}
	}
}

// runs reads the log: the deliveries of each series in the order of their tokens.
func (r *recurring) runs(t *testing.T) []run {
	t.Helper()
	f, err := os.Open(r.log)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var all []run
	began := map[string]int{} // key, id and token to the index in all
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var one run
		var event string
		var due, at int64
		if _, err := fmt.Sscanf(lines.Text(), "%s %s %s %d %d %d %d %d", &event, &one.key, &one.id, &one.token, &one.attempt, &due, &at, &one.process); err != nil {
			t.Fatalf("log line %q: %v", lines.Text(), err)
		}
		name := fmt.Sprint(one.id, " ", one.token)
		i, known := began[name]
		switch {
		case event == "end" && known && all[i].process == one.process:
			all[i].end = time.UnixMicro(at)
		case event == "start" && !known:
			one.due, one.start = time.UnixMilli(due), time.UnixMicro(at)
			began[name], all = len(all), append(all, one)
		default:
			t.Fatalf("log line %q: a delivery has two holders", lines.Text())
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(all, func(a, b run) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.token, b.token)) })
	return all
}

// judge checks all deliveries of one series.
func (r *recurring) judge(t *testing.T, runs []run) {
	t.Helper()
	for i, one := range runs {
		if one.start.Before(one.due) || one.id != runs[0].id {
			t.Errorf("%+v: early, or of a second series beside %s", one, runs[0].id)
		}
		if i == 0 {
			continue
		}
		last := runs[i-1]
		over := last.end
		if over.IsZero() {
			over = r.killed[last.process]
		}
		// A handler starts with a fifth of its lease at least: a process that is stopped for longer
		// can have lost it.
		if one.start.Before(over) && one.start.Before(last.start.Add(seriesLease/5)) {
			t.Errorf("%+v began while %+v ran", one, last)
		}
		if one.attempt == 1 && one.token == last.token+1 {
			wantNext(t, last, one)
		}
	}
}

// wantNext fails unless an occurrence is due at the first time of its schedule after the
// verdict on the one before, which nothing was handed out after.
func wantNext(t *testing.T, last, one run) {
	t.Helper()
	const verdict = 3 * time.Second // how long it may take to reach the store on a busy machine
	step := one.due.Sub(last.due)
	// A verdict that is still on its way at the next time makes the occurrence due when it arrives.
	late := one.due.After(last.end) && one.due.Before(last.end.Add(verdict))
	if step <= 0 || step%seriesEvery != 0 && !late {
		t.Errorf("%+v after %+v: not at a time of the schedule", one, last)
	}
	if last.end.IsZero() || one.due.Add(-seriesEvery).After(last.end.Add(verdict)) {
		t.Errorf("%+v after %+v: a time was left out that came when no handler ran", one, last)
	}
}

// wantSeries fails unless each series is one message that was handled.
func wantSeries(t *testing.T, q *dueq.Queue, byKey map[string][]run) {
	t.Helper()
	s, err := q.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d deliveries, %d occurrences done, %d leases ran out, %d letters", s.Counters.Delivered, s.Counters.Repeated, s.Counters.LeaseLost, s.Dead)
	if live := s.Scheduled + s.Ready + s.Leased; live != seriesCount || s.Counters.Sent != seriesCount+s.Dead || s.Counters.LeaseLost == 0 || s.Counters.Repeated == 0 {
		t.Errorf("%+v: want %d messages, no other sent but letters, some occurrences done, and some leases that ran out", s, seriesCount)
	}
	for key, runs := range byKey {
		record, err := q.Get(t.Context(), dueq.Key(key))
		if err != nil || record.ID != runs[0].id || record.State == dueq.Dead {
			t.Errorf("%s: %+v, %v, want the message %s", key, record, err, runs[0].id)
		}
	}
	report, err := q.Check(t.Context())
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("check: %v %v", report.Problems, err)
	}
}
