package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

// attack is a text that sets the clipboard of a terminal which allows it, rings the bell and
// reverses the direction of reading.
const attack = "\x1b]52;c;cm0gLXJm\x07\u009b31m\u202e\r\n\x00\xff"

func TestText_ControlCharactersAreEscaped(t *testing.T) {
	t.Parallel()
	r := newRecord(dueq.Record{
		ID: "id", Queue: attack, Key: attack, Headers: map[string]string{attack: attack}, Body: []byte(attack),
		BodySize: len(attack), State: dueq.Dead, LastFailure: attack,
	})
	plain := r
	plain.Body, plain.BodyBase64 = new(string), nil
	*plain.Body = attack
	d := newDelivery(&dueq.Delivery{ID: attack, Key: attack, Headers: map[string]string{attack: attack}, Body: []byte(attack)})
	for name, shown := range map[string]result{
		"record": &r, "record as text": &plain, "delivery": d,
		"page":      &page{Messages: []record{r, plain}},
		"dead page": &page{Messages: []record{r, plain}, dead: true},
		"cancel":    cancelResult{ID: attack}, "pause": pauseResult{Queue: attack},
		"settings": settingsResult{Queue: attack},
		"stats":    statsResult{{Queue: attack}},
		"check":    checkResult{{Queue: attack, Problems: []problem{{ID: attack, Text: attack}}}},
	} {
		lines := strings.ReplaceAll(shown.text(), "\n", "")
		if i := strings.IndexFunc(lines, func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x202e }); i >= 0 {
			t.Errorf("%s: %q has a control character at %d", name, shown.text(), i)
		}
		if strings.Contains(shown.text(), "m\r") {
			t.Errorf("%s: a line of the message became a line of the output: %q", name, shown.text())
		}
	}
}

func TestJSON_ControlCharactersAreEscapedAndNothingIsCut(t *testing.T) {
	t.Parallel()
	a := &app{output: formatJSON}
	var b strings.Builder
	a.out = &b
	text := strings.TrimSuffix(attack, "\xff")
	if err := a.print(newDelivery(&dueq.Delivery{ID: "id", Key: text, Body: []byte(text)})); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(strings.TrimSpace(b.String()), "\x1b\x07\u009b\u202e\r\n\x00") {
		t.Errorf("%q has control characters", b.String())
	}
	var back struct{ Key, Body string }
	if err := json.Unmarshal([]byte(b.String()), &back); err != nil || back.Key != text || back.Body != text {
		t.Errorf("reads back as %q, %v, want %q", back, err, text)
	}
}

func TestJSON_Bodies(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"":          `{"body":""}`,
		`{"a":"<"}`: `{"body":"{\"a\":\"<\"}"}`,
		"\xff\x00":  `{"body_base64":"/wA="}`,
	} {
		got, err := json.Marshal(newContent("", nil, []byte(body)))
		if err != nil || strings.ReplaceAll(string(got), `\u003c`, "<") != want {
			t.Errorf("body %q is %s, %v, want %s", body, got, err, want)
		}
	}
}

func TestText_CutBodyStaysText(t *testing.T) {
	t.Parallel()
	r := newRecord(dueq.Record{Body: []byte("a\xe6"), BodySize: 4})
	if r.Body == nil || *r.Body != "a" {
		t.Errorf("a cut body became %v", r.Body)
	}
}

func TestRecord_TimeFieldFollowsTheState(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 31, 18, 0, 0, 5e6, time.FixedZone("", 3600))
	const text = "2030-01-31T17:00:00.005Z"
	for state, field := range map[dueq.State]string{
		dueq.Scheduled: "due", dueq.Ready: "due", dueq.Leased: "leased_until", dueq.Dead: "died_at",
	} {
		got, err := json.Marshal(newRecord(dueq.Record{State: state, At: at}))
		if err != nil || !strings.Contains(string(got), `"`+field+`":"`+text+`"`) || strings.Count(string(got), text) != 1 {
			t.Errorf("%s: %s, %v, want %s only in %s", state, got, err, text, field)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	v := decode[map[string]string](t, without(t).ok("version", "-o", "json"))
	for _, field := range []string{"version", "go", "platform"} {
		if v[field] == "" {
			t.Errorf("%s is missing in %v", field, v)
		}
	}
	if text := without(t).ok("version"); !strings.HasPrefix(text, "dueq ") || !strings.Contains(text, v["go"]) {
		t.Errorf("version is %q", text)
	}
}

func TestHelp_NeedsNoStore(t *testing.T) {
	t.Parallel()
	if got := without(t).ok(); !strings.Contains(got, "dueq demo") {
		t.Errorf("help is %q", got)
	}
	for _, cmd := range newRoot(&app{}).Commands() {
		if got := without(t).ok(cmd.Name(), "--help"); !strings.Contains(got, "Usage:") {
			t.Errorf("help of %s is %q", cmd.Name(), got)
		}
	}
}

func TestSend_JSON(t *testing.T) {
	t.Parallel()
	got := decode[map[string]string](t, inMemory(t).ok("send", "--queue", "q", "-o", "json", "--delay", "1d", "--header", "a=b=c", "body"))
	if len(got) != 2 || got["queue"] != "q" || len(got["id"]) != 26 {
		t.Errorf("send printed %v", got)
	}
}

func TestPurge_InterruptEndsTheConfirmation(t *testing.T) {
	t.Parallel()
	in, answer := io.Pipe() // no answer is written
	defer func() { _ = answer.Close() }()
	ctx, interrupt := context.WithCancel(t.Context())
	asked := &signalling{asked: make(chan struct{}, 1)}
	a := &app{console: console{in: in, err: asked}}
	done := make(chan error, 1)
	go func() { done <- a.ask(ctx, "Remove everything?") }()
	<-asked.asked
	interrupt()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the error of the context", err)
	}
}

// signalling is a writer that signals when something is written.
type signalling struct{ asked chan struct{} }

func (s *signalling) Write(p []byte) (int, error) {
	s.asked <- struct{}{}
	return len(p), nil
}

func TestPurge_AsksForConfirmation(t *testing.T) {
	t.Parallel()
	for answer, fine := range map[string]bool{"y\n": true, " Y \n": true, "n\n": false, "\n": false, "": false, "yes, all\n": false} {
		var b strings.Builder
		a := &app{console: console{in: strings.NewReader(answer), err: &b}}
		if err := a.ask(t.Context(), purgeQuestion("q", "dead", false)); (err == nil) != fine {
			t.Errorf("answer %q: %v", answer, err)
		}
		if b.String() != `Remove every dead message of queue "q" for good? [y/N] ` {
			t.Errorf("the question is %q", b.String())
		}
	}
}

func TestStats_OfOneQueueShowsDuties(t *testing.T) {
	t.Parallel()
	for text, r := range map[string]statsResult{
		"":                             {{Queue: "q", Partitions: 2}},
		"worker-1  0 2\nworker-2  1\n": {{Queue: "q", Partitions: 3, OnDuty: []string{"worker-1", "worker-2", "worker-1"}}},
		"nobody    0\nworker-2  1\n":   {{Queue: "q", Partitions: 2, OnDuty: []string{"", "worker-2"}}},
	} {
		if got := r.text(); !strings.Contains(got, text) || strings.Contains(got, "ON DUTY") != (text != "") {
			t.Errorf("stats %q, want %q", got, text)
		}
	}
}

func TestMembers_ShowsDuties(t *testing.T) {
	t.Parallel()
	var r membersResult
	if got := r.text(); strings.Contains(got, "no duties") {
		t.Errorf("no members: %q", got)
	}
	r = membersResult{{Name: "a", Client: "x", OnDuty: []int{0, 2}}, {Name: "b", Client: "y", Trial: true}}
	for _, want := range []string{"a     x       0 2", "b     y       no duties"} {
		if got := r.text(); !strings.Contains(got, want) {
			t.Errorf("members %q, want a line %q", got, want)
		}
	}
}
