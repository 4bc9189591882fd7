package main

import "testing"

func TestQueue_CreateShowUpdate(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	show := func(args ...string) settingsResult {
		t.Helper()
		return decode[settingsResult](t, s.ok(append(args, "--queue", "q", "-o", "json")...))
	}
	want := settingsResult{Queue: "q", Partitions: 2, MaxBody: 262144, MaxMessages: 9, LeaseMS: 60_000, DeadRetentionMS: 72 * 3_600_000, DedupForMS: 3_600_000, HistoryMS: 3_600_000}
	create := []string{"queue", "create", "--partitions", "2", "--max-messages", "9", "--lease", "1m", "--dead-retention", "72h", "--dedup-for", "1h", "--history", "1h"}
	for range 2 {
		if got := show(create...); got != want {
			t.Errorf("made %+v, want %+v", got, want)
		}
	}
	s.fails(exitConflict, []string{`"q"`, "partitions", "other settings"}, "queue", "create", "--queue", "q")
	want.DeadRetentionMS, want.MaxDead, want.DedupForMS = 0, 500, 86_400_000
	want.HistoryMS, want.MaxHistory = 1000, 77
	want.LeaseMS, want.MaxAttempts, want.BackoffBaseMS, want.BackoffMostMS = 0, 5, 500, 3_600_000
	update := []string{"queue", "update", "--lease", "0s", "--max-attempts", "5", "--backoff-base", "500ms", "--backoff-most", "1h", "--dead-retention", "0s", "--max-dead", "500", "--dedup-for", "1d", "--history", "1s", "--max-history", "77"}
	if got := show(update...); got != want {
		t.Errorf("changed to %+v, want %+v", got, want)
	}
	if got := show("queue", "settings"); got != want {
		t.Errorf("read %+v, want %+v", got, want)
	}
}

func TestSend_DedupIDPrintsTheFirstID(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	send := func(args ...string) sendResult {
		t.Helper()
		return decode[sendResult](t, s.ok(append([]string{"send", "--queue", "q", "--dedup-id", "payment-7", "--dedup-for", "1h", "-o", "json"}, args...)...))
	}
	first := send("body")
	if got := send("another body"); first.Deduplicated || !got.Deduplicated || got.ID != first.ID {
		t.Errorf("%+v, then %+v, want the same id, deduplicated", first, got)
	}
	s.ok("delete", "--queue", "q", "--yes", first.ID)
	if got := send("body"); !got.Deduplicated || got.ID != first.ID {
		t.Errorf("%+v when the first is gone, want %s", got, first.ID)
	}
}

func TestQueueDelete_AsksAndRefusesMessages(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	s.fails(exitNotFound, []string{`"q"`, "not found"}, "queue", "delete", "--queue", "q", "--yes")
	s.ok("send", "--queue", "q", "body")
	s.fails(exitUsage, []string{"--yes"}, "queue", "delete", "--queue", "q", "--force")
	s.fails(exitConflict, []string{`"q"`, "1 messages", "not empty"}, "queue", "delete", "--queue", "q", "--yes")
	got := decode[queueDeleteResult](t, s.ok("queue", "delete", "--queue", "q", "--force", "--yes", "-o", "json"))
	if want := (queueDeleteResult{Queue: "q", Deleted: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	s.fails(exitNotFound, []string{`"q"`}, "queue", "settings", "--queue", "q")
}
