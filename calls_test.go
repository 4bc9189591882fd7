package dueq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// TestHooks_OnCallSeesEveryCallOfTheStore calls every method of the port with zero arguments.
func TestHooks_OnCallSeesEveryCallOfTheStore(t *testing.T) {
	t.Parallel()
	var seen []CallEvent
	client, err := NewMemory(&Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	hooks := Hooks{OnCall: func(e CallEvent) { seen = append(seen, e) }}
	port := reflect.ValueOf(hooks.observe(client.store))
	methods := reflect.TypeFor[store.Store]()
	for i := range methods.NumMethod() {
		method := methods.Method(i)
		if slices.Contains([]string{"Close", "Known", "Watch"}, method.Name) {
			continue
		}
		seen = nil
		args := []reflect.Value{reflect.ValueOf(t.Context())}
		for n := 1; n < method.Type.NumIn(); n++ {
			args = append(args, reflect.Zero(method.Type.In(n)))
		}
		results := port.MethodByName(method.Name).Call(args)
		failed, _ := results[len(results)-1].Interface().(error)
		if len(seen) != 1 || seen[0].Call != strings.ToLower(method.Name) || !errors.Is(seen[0].Err, failed) {
			t.Errorf("%s with the error %v called OnCall with %+v", method.Name, failed, seen)
		}
	}
}

func TestHooks_OnCallHasTheQueueAndTheError(t *testing.T) {
	t.Parallel()
	var seen []CallEvent
	client, err := NewMemory(&Options{Hooks: Hooks{OnCall: func(e CallEvent) { seen = append(seen, e) }}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if _, err := client.Queue("orders").Settings(context.Background()); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	if len(seen) != 1 || seen[0].Call != "configure" || seen[0].Queue != "orders" || !errors.Is(seen[0].Err, ErrNotFound) {
		t.Errorf("OnCall was called with %+v, want the configure of orders that has failed", seen)
	}
}

func TestBackup_WithOnCall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	client, err := Open(t.Context(), "file:"+dir+"/store", &Options{Hooks: Hooks{OnCall: func(CallEvent) {}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if err := client.Backup(t.Context(), dir+"/copy"); err != nil {
		t.Error(err)
	}
}

func TestJoinHooks_CallsEachInOrder(t *testing.T) {
	t.Parallel()
	var seen []string
	hooks := func(name string) Hooks {
		return Hooks{
			OnSend: func(SendEvent) { seen = append(seen, name+" send") }, OnDeliver: func(DeliverEvent) { seen = append(seen, name+" deliver") },
			OnSettle: func(SettleEvent) { seen = append(seen, name+" settle") }, OnFailure: func(FailureEvent) { seen = append(seen, name+" failure") },
			OnDead: func(DeadEvent) { seen = append(seen, name+" dead") }, OnSkip: func(SkipEvent) { seen = append(seen, name+" skip") },
			OnCall: func(CallEvent) { seen = append(seen, name+" call") },
		}
	}
	joined := JoinHooks(Hooks{}, hooks("first"), Hooks{}, hooks("second"))
	joined.OnSend(SendEvent{})
	joined.OnDeliver(DeliverEvent{})
	joined.OnSettle(SettleEvent{})
	joined.OnFailure(FailureEvent{})
	joined.OnDead(DeadEvent{})
	joined.OnSkip(SkipEvent{})
	joined.OnCall(CallEvent{})
	var want []string
	for _, hook := range []string{"send", "deliver", "settle", "failure", "dead", "skip", "call"} {
		want = append(want, "first "+hook, "second "+hook)
	}
	if !slices.Equal(seen, want) {
		t.Errorf("called %q, want %q", seen, want)
	}
	if none := reflect.ValueOf(JoinHooks(Hooks{}, Hooks{})); !none.IsZero() {
		t.Error("a hook is set that none of the joined hooks has")
	}
}

func TestVerdictOf_IsThatOfTheConsumer(t *testing.T) {
	t.Parallel()
	no := errors.New("no luck")
	for _, test := range []struct {
		result error
		want   string
	}{
		{nil, "ack"},
		{no, "nack"},
		{RetryAfter(time.Second, no), "nack"},
		{Reject(no), "reject"},
		{Drop(no), "ack"},
		{Snooze(time.Second, "busy"), "snooze"},
		{fmt.Errorf("wrapped: %w", Snooze(time.Second, "busy")), "snooze"},
		{Again(Schedule{Delay: time.Second}, nil), "again"},
		{Next(NextMessage{}), "ack"},
	} {
		if got := VerdictOf(test.result); got != test.want {
			t.Errorf("%v is the verdict %q, want %q", test.result, got, test.want)
		}
	}
}
