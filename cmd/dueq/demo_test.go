package main

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/demo"
)

// wholeShow is the end of the output of each demo that is not interrupted, without the lateness.
var wholeShow = demo.Result{Sent: 441, Delivered: 439, Retried: 22, Dead: 1, Cancelled: 1}

func checkShow(t *testing.T, got demo.Result) {
	t.Helper()
	got.Lateness = demo.Lateness{}
	if got != wholeShow {
		t.Errorf("the demo ended with %+v, want %+v", got, wholeShow)
	}
}

func TestDemo_InMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		got := without(t).run("demo", "-o", "json")
		if got.code != exitOK || got.err != "" {
			t.Fatalf("exit %d, stderr %q", got.code, got.err)
		}
		checkShow(t, decode[demo.Result](t, got.out))
		if took := time.Since(start); took > 15*time.Second {
			t.Errorf("took %v, want less than 15 s", took)
		}
	})
}

func TestDemo_FieldsOfJSON(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	a := &app{console: console{out: &b}, output: formatJSON}
	if err := a.print(demoResult{demo.Result{Sent: 1, Lateness: demo.Lateness{P50: 0.5, P99: 1, Max: 2}}}); err != nil {
		t.Fatal(err)
	}
	want := `{"sent":1,"delivered":0,"retried":0,"dead":0,"cancelled":0,"early":0,"lost":0,"lateness_ms":{"p50":0.5,"p99":1,"max":2}}` + "\n"
	if b.String() != want {
		t.Errorf("printed %s, want %s", b.String(), want)
	}
}

func TestDemo_TextOutput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got := without(t).run("demo")
		if got.code != exitOK || got.err != "" {
			t.Fatalf("exit %d, stderr %q", got.code, got.err)
		}
		for _, text := range []string{
			"on mem:", "held: no crew yet (attempt 1)", "departed at attempt 2", "grounded: engine does not start (attempt 3, the last)",
			"cancelled: is never delivered", "delayed: now due on 2 Jan", "at its new time",
			"\n  sent         441 ", "\n  early          0 ", "\n  lost           0 ", "lateness   p50 ",
		} {
			if !strings.Contains(got.out, text) {
				t.Errorf("the output does not say %q:\n%s", text, got.out)
			}
		}
		if strings.Contains(got.out, "\x1b") {
			t.Error("there are escape sequences in what is not for a terminal")
		}
	})
}

func TestDemo_Interrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := opened(t)(dueq.NewMemory(nil))
		defer func() { _ = client.Close() }()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		ctx, stop := context.WithCancel(ctx)
		context.AfterFunc(ctx, stop)
		timer := time.AfterFunc(2*time.Second, stop)
		defer timer.Stop()
		q := client.Queue("demo")
		a := &app{console: console{out: new(strings.Builder)}, output: formatJSON}
		if err := a.demo(ctx, q, demoLength); exitCode(err) != exitFailure {
			t.Errorf("error is %v, want an interruption", err)
		}
		s, err := q.Stats(t.Context())
		if err != nil || s.Scheduled+s.Ready+s.Leased+s.Dead != 0 || s.Counters.Sent != 441 {
			t.Errorf("left behind: %+v, %v", s, err)
		}
	})
}

func TestDemo_StoreNameHasNoSecrets(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"mem:":                                  "mem:",
		"redis://user:hunter2@localhost:6379/3": "redis://localhost:6379",
		"redis+sentinel://u:hunter2@a,b:1/m?sentinel_password=hunter2": "redis+sentinel://a,b:1",
		"redis://u:hunter2%zz@h":          "redis:",
		"unix://:hunter2@/run/redis.sock": "unix:",
	} {
		if got := storeName(url); got != want {
			t.Errorf("storeName(%q) = %q, want %q", url, got, want)
		}
	}
}
