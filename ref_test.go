package dueq_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

func TestParseRef(t *testing.T) {
	t.Parallel()
	const id = "03e6nkxc01r01c3tgwjq1g0000"
	for text, want := range map[string]dueq.Ref{
		id:             dueq.ID(id),
		"key:order-42": dueq.Key("order-42"),
		"key:" + id:    dueq.Key(id),
		"key:key:a b":  dueq.Key("key:a b"),
	} {
		got, err := dueq.ParseRef(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("ParseRef(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for text, wants := range map[string][]string{
		"":           {"id", "key:KEY"},
		"order-42":   {"id", `"order-42"`, "8 characters", "key:KEY"},
		"key:":       {"key", "empty"},
		"key:a\nb":   {"key", `a\nb`},
		"Key:order":  {"id", "key:KEY"},
		id + "0":     {"id", "27 characters"},
		"\x1b]52;c;": {"id", `\x1b`},
	} {
		got, err := dueq.ParseRef(text)
		if got != (dueq.Ref{}) || !errors.Is(err, dueq.ErrInvalid) {
			t.Errorf("ParseRef(%q) = %v, %v, want ErrInvalid", text, got, err)
			continue
		}
		for _, want := range wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("ParseRef(%q): %v, want %q in it", text, err, want)
			}
		}
	}
	if text := (dueq.Ref{}).String(); text != "" {
		t.Errorf("the zero Ref is %q", text)
	}
}

func TestCancel_TakesNoText(t *testing.T) {
	t.Parallel()
	for name, method := range map[string]any{
		"Cancel": (*dueq.Queue).Cancel, "Reschedule": (*dueq.Queue).Reschedule, "Get": (*dueq.Queue).Get,
	} {
		if ref := reflect.TypeOf(method).In(2); ref.Kind() == reflect.String {
			t.Errorf("%s(ctx, \"order-42\") compiles: its parameter is a %s", name, ref)
		}
	}
}

// about returns every *dueq.Error in a tree of errors.
func about(err error) []*dueq.Error {
	var all []*dueq.Error
	if e, ok := err.(*dueq.Error); ok { //nolint:errorlint // it walks the tree without errors.As
		all = append(all, e)
	}
	switch e := err.(type) { //nolint:errorlint // it walks the tree without errors.As
	case interface{ Unwrap() error }:
		all = append(all, about(e.Unwrap())...)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			all = append(all, about(one)...)
		}
	}
	return all
}

func TestRedrive_EveryRefusalIsInTheError(t *testing.T) {
	inBubble(t, func(r *rig) {
		taken := r.send(dueq.Message{Key: "taken"})
		r.kill()
		holder := r.send(dueq.Message{Key: "taken", Delay: time.Hour})
		n, err := r.q.Redrive(r.Context(), dueq.ID(taken), dueq.ID(holder))
		if n != 0 || !errors.Is(err, dueq.ErrDuplicate) || !errors.Is(err, dueq.ErrNotFound) {
			r.Fatalf("%d, %v, want ErrDuplicate and ErrNotFound", n, err)
		}
		kinds := map[string]error{}
		for _, e := range about(err) {
			if e.ID != "" {
				kinds[e.ID] = e
			}
			if e.ID == taken && e.Holder != holder {
				r.Errorf("the key of %s belongs to %q, want %s", taken, e.Holder, holder)
			}
		}
		if len(kinds) != 2 || !errors.Is(kinds[taken], dueq.ErrDuplicate) || !errors.Is(kinds[holder], dueq.ErrNotFound) {
			r.Errorf("refusals %v, want one for %s and one for %s", kinds, taken, holder)
		}
	})
}

func TestError_WithoutCauseHasAText(t *testing.T) {
	t.Parallel()
	e := &dueq.Error{Op: "send", Queue: "orders"}
	if e.Error() != `send queue "orders"` || e.Unwrap() != nil {
		t.Errorf("%q, %v", e.Error(), e.Unwrap())
	}
}

func TestManage_ErrorNamesTheReason(t *testing.T) {
	inBubble(t, func(r *rig) {
		dead := r.send(dueq.Message{})
		r.kill()
		running := r.send(dueq.Message{Key: "running"})
		due, err := r.direct.Receive(r.Context(), dueq.ReceiveOptions{})
		r.must(err)
		gone := r.send(dueq.Message{Delay: time.Hour})
		r.must(r.q.Cancel(r.Context(), dueq.ID(gone)))

		for _, test := range []struct {
			ref  dueq.Ref
			want error
		}{
			{dueq.ID(dead), dueq.ErrDead},
			{dueq.ID(running), dueq.ErrRunning},
			{dueq.Key("running"), dueq.ErrRunning},
			{dueq.ID(gone), dueq.ErrNotFound},
			{dueq.Key("unknown"), dueq.ErrNotFound},
		} {
			later := dueq.Schedule{Delay: time.Hour}
			for op, err := range map[string]error{
				"reschedule": r.q.Reschedule(r.Context(), test.ref, later),
				"cancel":     r.q.Cancel(r.Context(), test.ref),
			} {
				for _, kind := range []error{dueq.ErrDead, dueq.ErrRunning, dueq.ErrNotFound} {
					if errors.Is(err, kind) != errors.Is(test.want, kind) {
						r.Errorf("%s %s: %v, want exactly %v", op, test.ref, err, test.want)
					}
				}
				var about *dueq.Error
				if !errors.As(err, &about) || about.Op != op || about.Queue != "work" || about.ID != test.ref.String() {
					r.Errorf("%s %s: %+v", op, test.ref, about)
				}
			}
		}
		if m := r.get(dead); m.State != dueq.Dead {
			r.Errorf("the dead one: %+v", m)
		}
		if m := r.get(running); m.State != dueq.Leased || !m.Cancelling {
			r.Errorf("the running one: %+v", m)
		}
		r.must(due[0].Ack(r.Context()))
	})
}
