package main

import "testing"

func TestQueue_SettingsAreMadeShownAndChanged(t *testing.T) {
	t.Parallel()
	s, _ := onRedis(t)
	show := func(args ...string) settingsResult {
		t.Helper()
		return decode[settingsResult](t, s.ok(append(args, "--queue", "q", "-o", "json")...))
	}
	want := settingsResult{Queue: "q", Partitions: 2, MaxBody: 262144, MaxMessages: 9, LeaseMS: 60_000, DeadRetentionMS: 72 * 3_600_000}
	create := []string{"queue", "create", "--partitions", "2", "--max-messages", "9", "--lease", "1m", "--dead-retention", "72h"}
	for range 2 {
		if got := show(create...); got != want {
			t.Errorf("made %+v, want %+v", got, want)
		}
	}
	s.fails(exitConflict, []string{`"q"`, "partitions", "other settings"}, "queue", "create", "--queue", "q")
	want.DeadRetentionMS, want.MaxDead = 0, 500
	want.LeaseMS, want.MaxAttempts, want.BackoffBaseMS, want.BackoffMostMS = 0, 5, 500, 3_600_000
	update := []string{"queue", "update", "--lease", "0s", "--max-attempts", "5", "--backoff-base", "500ms", "--backoff-most", "1h", "--dead-retention", "0s", "--max-dead", "500"}
	if got := show(update...); got != want {
		t.Errorf("changed to %+v, want %+v", got, want)
	}
	if got := show("queue", "settings"); got != want {
		t.Errorf("read %+v, want %+v", got, want)
	}
}
