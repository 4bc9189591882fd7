package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/internal/transfer"
	"github.com/dueq-dev/dueq/store"
)

// onFile returns a session on a new directory.
func onFile(t *testing.T) *session {
	t.Helper()
	return &session{t: t, env: map[string]string{"DUEQ_STORE": "file:" + filepath.Join(t.TempDir(), "data") + "?sync=never"}}
}

// fill makes queues with messages in every state, and with all that messages can have, and pauses
// them. One message is still leased, if that is wanted.
func (s *session) fill(leased bool) {
	s.t.Helper()
	s.ok("queue", "create", "--queue", "orders", "--partitions", "3", "--history", "1d", "--max-attempts", "2", "--max-messages", "100000")
	s.ok("queue", "create", "--queue", "empty", "--max-body", "100", "--lease", "1m", "--backoff-base", "1s", "--backoff-most", "1m", "--dedup-for", "1h")
	ctx := s.t.Context()
	client := opened(s.t)(dueq.Open(ctx, s.env["DUEQ_STORE"], nil))
	q := client.Queue("orders")
	must := func(err error) {
		s.t.Helper()
		if err != nil {
			s.t.Fatal(err)
		}
	}
	take := func(m dueq.Message) *dueq.Delivery {
		s.t.Helper()
		_, err := q.Send(ctx, m)
		must(err)
		got, err := q.Receive(ctx, dueq.ReceiveOptions{Wait: time.Minute, Lease: time.Hour})
		must(err)
		return got[0]
	}
	must(take(dueq.Message{Body: []byte("dies"), Key: "grave"}).Reject(ctx, errors.New("answer 503\nfrom \u2028 the service \U0001F600")))
	must(take(dueq.Message{Body: []byte("acked"), Key: "done"}).Ack(ctx))
	must(take(dueq.Message{Body: []byte("fails"), MaxAttempts: 9}).Nack(ctx, time.Hour, errors.New("later")))
	must(take(dueq.Message{Body: []byte("snoozed"), Key: "snoozed"}).Snooze(ctx, time.Hour, "busy"))
	must(take(dueq.Message{Body: []byte("\xff\x00\x01")}).Release(ctx, time.Hour))
	series, err := dueq.ParseRepeat("cron 0 9 * * 1-5 Europe/Berlin")
	must(err)
	batch := []dueq.Message{
		{Key: "daily", Repeat: series, Body: []byte("{}")},
		{Key: "expires", Delay: time.Hour, TTL: 2 * time.Hour, Headers: map[string]string{"trace": "<a&b>\U0001F600"}},
		{DedupID: "once", DedupFor: time.Hour, Delay: time.Hour},
	}
	for range 1200 {
		batch = append(batch, dueq.Message{Delay: time.Hour, Body: []byte(strings.Repeat("x", 100))})
	}
	results, err := q.SendBatch(ctx, batch)
	must(err)
	for _, r := range results {
		must(r.Err)
	}
	if leased {
		take(dueq.Message{Key: "held"})
	}
	_, err = q.Send(ctx, dueq.Message{Body: []byte("ready")})
	must(err)
	must(client.Close())
	s.ok("pause", "--queue", "orders")
}

// export returns an export of all queues.
func (s *session) export() string {
	s.t.Helper()
	got := s.run("export", "-o", "json")
	if got.code != exitOK || got.err != "" {
		s.t.Fatalf("export: exit %d, %s", got.code, got.err)
	}
	return got.out
}

// imports imports an export into an empty store, which must succeed.
func (s *session) imports(text string) restoreResult {
	s.t.Helper()
	got := s.feed(text, "import", "-o", "json", "-")
	if got.code != exitOK || got.err != "" {
		s.t.Fatalf("import: exit %d, %s", got.code, got.err)
	}
	return decode[restoreResult](s.t, got.out)
}

func TestExport_FileToRedisAndBackIsTheSame(t *testing.T) {
	t.Parallel()
	testMoves(t, redisURL(t))
}

func TestExport_FileToClusterAndBackIsTheSame(t *testing.T) {
	t.Parallel()
	testMoves(t, "redis+cluster://"+redistest.StartCluster(t, 3)[0].Addr())
}

func TestExport_FileToServerAndBackIsTheSame(t *testing.T) {
	t.Parallel()
	testMoves(t, onFile(t).serve().url)
}

// testMoves moves the queues of a directory to another store and from that to a directory.
func testMoves(t *testing.T, url string) {
	t.Helper()
	from, through, to := onFile(t), &session{t: t, env: map[string]string{"DUEQ_STORE": url}}, onFile(t)
	from.fill(false)
	want := from.export()
	for _, text := range []string{`"state":"waiting"`, `"state":"dead"`, `"state":"done"`, `"failures":1`, `"snoozes":1`, `"recent_failures":[{"at":1`, `"dedup_id"`, `"repeat"`, `"expiry"`, `"body_base64":"/wAB"`, `503`} {
		if !strings.Contains(want, text) {
			t.Errorf("the export has no %s", text)
		}
	}
	if got := through.imports(want); got.Queues != 2 || got.Messages != 1209 || got.Known+got.Refused != 0 {
		t.Errorf("imported %+v", got)
	}
	sameLines(t, through.export(), want)
	to.imports(through.export())
	sameLines(t, to.export(), want)
	through.ok("check")
	to.ok("check")
	if got := to.ok("queue", "settings", "--queue", "empty"); got != from.ok("queue", "settings", "--queue", "empty") || !strings.Contains(got, "1m0s") {
		t.Errorf("settings:\n%s", got)
	}
	s := to.stats("orders")
	if !s.Paused || s.Partitions != 3 || s.Ready != 1 || s.Dead != 1 || s.Done != 1 {
		t.Errorf("stats: %+v", s)
	}
}

// sameLines reports the first line in which two exports differ.
func sameLines(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range w {
		if i >= len(g) || g[i] != w[i] {
			t.Fatalf("line %d of %d is\n%s\nwant\n%s", i+1, len(g), g[min(i, len(g)-1)], w[i])
		}
	}
	if len(g) != len(w) {
		t.Fatalf("%d lines, want %d", len(g), len(w))
	}
}

// A message that a consumer holds is due when its lease ends, with its attempts.
func TestExport_LeasedMessageIsDueWhenItsLeaseEnds(t *testing.T) {
	t.Parallel()
	from, to := onFile(t), onFile(t)
	from.fill(true)
	held := decode[record](t, from.ok("show", "--queue", "orders", "key:held", "-o", "json"))
	to.imports(from.export())
	got := decode[record](t, to.ok("show", "--queue", "orders", "key:held", "-o", "json"))
	if held.State != dueq.Leased || got.State != dueq.Scheduled || got.Due != held.LeasedUntil || got.Attempt != held.Attempt || got.Attempt != 1 {
		t.Errorf("held %+v, imported %+v", held, got)
	}
	again := onFile(t)
	again.imports(to.export())
	sameLines(t, again.export(), to.export())
}

func TestImport_InterruptedIsContinued(t *testing.T) {
	t.Parallel()
	from, to := onFile(t), &session{t: t, env: map[string]string{"DUEQ_STORE": redisURL(t)}}
	from.fill(false)
	from.ok("resume", "--queue", "orders")
	text := from.export()
	client := opened(t)(dueq.Open(t.Context(), to.env["DUEQ_STORE"], nil))
	defer func() { _ = client.Close() }()
	_, err := transfer.Import(t.Context(), &interrupted{Store: client.Store(), left: 2}, strings.NewReader(text), "", nil)
	if !errors.Is(err, errInterrupted) {
		t.Fatalf("import: %v", err)
	}
	if s := to.stats("orders"); !s.Paused || s.Sent == 0 || s.Sent > 1100 {
		t.Errorf("after the interruption: %+v", s)
	}
	got := to.imports(text)
	if got.Known == 0 || got.Messages == 0 || got.Known+got.Messages != 1209 {
		t.Errorf("continued: %+v", got)
	}
	if s := to.stats("orders"); s.Paused || s.Scheduled+s.Ready+s.Dead+s.Done != 1209 {
		t.Errorf("after it was continued: %+v", s)
	}
	taken := to.ok("receive", "--queue", "orders")
	if !strings.Contains(taken, "ready") {
		t.Errorf("received %q", taken)
	}
	if got := to.imports(text); got.Queues != 0 || got.Messages != 0 || len(got.Finished) != 2 {
		t.Errorf("imported once more: %+v", got)
	}
	to.ok("queue", "update", "--queue", "orders", "--max-dead", "7")
	if got := to.feed(text, "import", "-"); got.code != exitConflict || !strings.Contains(got.err, "the queue exists") {
		t.Errorf("import over a queue that was changed: %+v", got)
	}
}

var errInterrupted = errors.New("interrupted")

// interrupted is a store that fails after some restores, the last of which it has done.
type interrupted struct {
	store.Store
	left int
}

func (s *interrupted) Restore(ctx context.Context, p store.Partition, r store.RestoreRequest) ([]store.Code, error) {
	if s.left == 0 {
		return nil, errInterrupted
	}
	s.left--
	return s.Store.Restore(ctx, p, r)
}

func TestImport_DamagedExportChangesNothing(t *testing.T) {
	t.Parallel()
	from := onFile(t)
	from.ok("send", "--queue", "q", "--delay", "1h", "--key", "order-42", "first")
	from.ok("send", "--queue", "q", "--delay", "1h", "second")
	from.ok("pause", "--queue", "q")
	good := from.export()
	lines := strings.SplitAfter(good, "\n")
	for name, test := range map[string]struct {
		old, new string
		says     []string
	}{
		"a field":         {`"state":"waiting"`, `"state":"leased"`, []string{"line 3: state: ", `"leased"`}},
		"a number":        {`"max_attempts":`, `"max_attempts":-`, []string{"line 3: max attempts: -"}},
		"an id":           {`{"id":"`, `{"id":"x`, []string{"line 3: id: "}},
		"another type":    {`"key":"order-42"`, `"key":42`, []string{"line 3: ", "key", "want a string", "number"}},
		"an unknown name": {`"key":`, `"kee":`, []string{"line 3: ", "kee"}},
		"a setting":       {`"partitions":1`, `"partitions":0`, []string{"line 2: partitions: 0"}},
		"a growth":        {`"partitions":1`, `"partitions":1,"from":1`, []string{"line 2: from: 1"}},
		"a partition":     {`"partitions":1`, `"partitions":9`, []string{"line 3: id: ", "is of partition 0", "order-42"}},
		"a version":       {`{"dueq_export":1`, `{"dueq_export":2`, []string{"line 1: dueq_export: 2"}},
		"a body":          {`"body":"first"`, `"body":"worst"`, []string{"line 5: end: sha256"}},
		"half a line":     {lines[3], lines[3][:20] + "\n", []string{"line 4: ", "ends in the middle"}},
		"a line less":     {lines[3], "", []string{"line 4: end: 2 messages, the file has 1"}},
		"no end":          {lines[4], "", []string{"end: is missing", "cut short"}},
		"a cut line":      {lines[4], lines[4][:9], []string{"line 5: ", "cut short"}},
		"more":            {lines[4], lines[4] + lines[3], []string{"line 6: comes behind the end"}},
	} {
		to := onFile(t)
		damaged := strings.Replace(good, test.old, test.new, 1)
		got := to.feed(damaged, "import", "-")
		checkFailure(t, got, got.code, append(test.says, "nothing was changed"), []string{name})
		if got.code == exitOK || to.ok("stats", "-o", "json") != "[]\n" {
			t.Errorf("%s: exit %d, stats %s", name, got.code, to.ok("stats", "-o", "json"))
		}
	}
}

// Where the messages of a queue that is growing belong is not decided yet.
func TestExport_GrowingQueueIsRefused(t *testing.T) {
	t.Parallel()
	s := onFile(t)
	s.ok("send", "--queue", "q", "--delay", "1h", "--key", "order-42", "body")
	s.ok("queue", "update", "--queue", "q", "--partitions", "3")
	s.fails(exitUnavailable, []string{"growing from 1 to 3"}, "export")
}

func TestImport_OneQueueOfAnExport(t *testing.T) {
	t.Parallel()
	from, to := onFile(t), onFile(t)
	from.fill(false)
	text := from.export()
	got := to.feed(text, "import", "--queue", "empty", "-")
	if want := "1 queues, 0 messages stored, 0 were there, 0 refused\n"; got.code != exitOK || got.out != want {
		t.Errorf("import: %+v, want %q", got, want)
	}
	checkFailure(t, to.feed(text, "import", "--queue", "none", "-"), exitNotFound, []string{"none", "not in the file"}, nil)
	checkFailure(t, to.feed(text, "import", "--speed", "2", "-"), exitUsage, []string{"--speed"}, nil)
	checkFailure(t, to.feed("{}\n", "import", "-"), exitUsage, []string{"--queue"}, nil)
	to.fails(exitNotFound, []string{"none"}, "export", "none")
}
