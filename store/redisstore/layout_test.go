package redisstore

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

// shown returns arguments as they are sent.
func shown(args []any) []string {
	texts := make([]string, len(args))
	for i, arg := range args {
		if text, ok := arg.(*string); ok {
			arg = *text
		}
		texts[i] = fmt.Sprint(arg)
	}
	return texts
}

func TestPushArgs_Layout(t *testing.T) {
	t.Parallel()
	s, p := &Store{config: Config{Prefix: "dueq"}}, store.Partition{Queue: "q", Index: 3}
	a, b, dedup := route.NewID(1), route.NewID(1), store.NewDedupID("d")
	farthest := fmt.Sprint(store.MaxDelay)
	for _, test := range []struct {
		name     string
		edit     func(m []store.Message)
		isNew    string
		columns  string
		messages []string // behind ids and records
	}{
		{"one time for all", func(m []store.Message) { m[0].New, m[1].New = true, true }, "1", "0", []string{"5"}},
		{"times", func(m []store.Message) { m[0].New, m[1].Due, m[1].Delay = true, 900, 0 }, "0", "1", []string{"5", "@900"}},
		{"a key", func(m []store.Message) { m[0].Key, m[0].Replace = "k", true }, "0", "4", []string{"5", "5", "k", "", "0", "0", "1", "0"}},
		{"a TTL", func(m []store.Message) { m[1].TTL = 7 }, "0", "4", []string{"5", "5", "", "", "0", "7", "0", "0"}},
		{
			"to be remembered", func(m []store.Message) { m[1].Remember = 8 },
			"0", "6",
			[]string{"5", "5", "", "", "0", "0", "0", "0", "0", "8", "", ""},
		},
		{
			"a dedup id", func(m []store.Message) { m[0].DedupID, m[1].Key = dedup, "k" },
			"0", "6",
			[]string{"5", "5", "", "k", "0", "0", "0", "0", "0", "0", string(dedup.AppendTo(nil)), ""},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := []store.Message{{ID: a, Delay: 5, MaxAttempts: 2, Body: []byte("x")}, {ID: b, Delay: 5, MaxAttempts: 2}}
			test.edit(m)
			first, second := string(encodeRecord(&m[0])), string(encodeRecord(&m[1]))
			args := s.pushArgs(p, store.PushRequest{Producer: "p", Number: 4, Messages: m})
			args[pushVersion] = 6
			want := slices.Concat([]string{
				"dueq:{q}:events", "wake 3", farthest, "2", test.isNew, fmt.Sprint(max(len(first), len(second))), test.columns,
				"p", "00000000000000000004", "6",
				a.String(), first, b.String(), second,
			}, test.messages)
			if got := shown(args); !slices.Equal(got, want) {
				t.Errorf("%q\nwant %q", got, want)
			}
		})
	}
}

func TestNextArgs_Layout(t *testing.T) {
	t.Parallel()
	s, p := &Store{config: Config{Prefix: "dueq"}}, store.Partition{Queue: "q"}
	held, a, b := route.NewID(0), route.NewID(0), route.NewID(0)
	m := []store.Message{{ID: a, Delay: 5, MaxAttempts: 2, Key: "k"}, {ID: b, Due: 900, MaxAttempts: 2, TTL: 7}}
	first, second := string(encodeRecord(&m[0])), string(encodeRecord(&m[1]))
	got := shown(s.nextArgs(p, []store.Settlement{
		{Receipt: store.Receipt{ID: held, Attempt: 2}, Messages: m},
		{Receipt: store.Receipt{ID: held, Attempt: 1}},
	}))
	want := []string{
		"dueq:{q}:events", "wake 0", fmt.Sprint(store.MaxDelay), "2", "0", fmt.Sprint(max(len(first), len(second))), "6",
		"2", " 2 0", "27",
		a.String(), first, b.String(), second,
		"5", "@900", "k", "", "0", "7", "0", "0", "0", "0", "", "",
		held.String() + ":2", held.String(), "0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

func TestSettleArgs_Layout(t *testing.T) {
	t.Parallel()
	s, p := &Store{config: Config{Prefix: "dueq"}}, store.Partition{Queue: "q", Index: 3}
	a, b, letter := route.NewID(1), route.NewID(1), route.NewID(1)
	first, second := a.String(), b.String()+":2k"
	items := []store.Settlement{
		{Receipt: store.Receipt{ID: a, Attempt: 1}, Delay: 5, Failure: "f", Letter: letter, Next: &store.Occurrence{Due: 900, Repeat: "r", TTL: 7}},
		{Receipt: store.Receipt{ID: b, Attempt: 2, Keyed: true}, Delay: 6, Letter: letter, Next: &store.Occurrence{Body: []byte("x"), NewBody: true}},
	}
	settle := func(v store.Verdict) []any { return s.settleArgs(p, v, items) }
	farthest := fmt.Sprint(store.MaxDelay)
	for _, test := range []struct {
		script string
		args   []any
		want   []string
	}{
		{"ack", settle(store.Ack), []string{"keyed", first, second}},
		{"nack", settle(store.Nack), []string{"2", "dueq:{q}:events", "wake 3", first, second, "5", "6", "f", ""}},
		{"release", settle(store.Release), []string{"2", "dueq:{q}:events", "wake 3", first, second, "5", "6"}},
		{"snooze", settle(store.Snooze), []string{"2", "dueq:{q}:events", "wake 3", first, second, "5", "6", "f", ""}},
		{"reject", settle(store.Reject), []string{"2", first, second, "f", ""}},
		{
			"again", settle(store.Again),
			[]string{"2", "dueq:{q}:events", "wake 3", farthest, first, second, "@900 r", "6", "7", "0", "", "=x"},
		},
		{
			"part, nack", s.partArgs(p, store.Nack, items),
			[]string{
				"2", "dueq:{q}:events", "wake 3", farthest, "n",
				first, second, "5", "6", "f", "", "900", "0", letter.String(), letter.String(), "r", "",
			},
		},
		{
			"part, reject", s.partArgs(p, store.Reject, items[:1]),
			[]string{"1", "dueq:{q}:events", "wake 3", farthest, "j", first, "5", "f", "900", letter.String(), "r"},
		},
		{
			"extend, start", extendArgs([]store.Receipt{items[0].Receipt, items[1].Receipt}, 60_000),
			[]string{"2", "60000", first, second},
		},
	} {
		if got := shown(test.args); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q\nwant %q", test.script, got, test.want)
		}
	}
}

func TestNumberedArgs_Layout(t *testing.T) {
	t.Parallel()
	s, p := &Store{config: Config{Prefix: "dueq"}}, store.Partition{Queue: "q", Index: 3}
	a, b := route.NewID(1), route.NewID(1)
	moves := []store.Move{{}, {Ref: store.Ref{ID: a}, Due: 900}, {Ref: store.Ref{Key: "k"}, Delay: 5}}
	items := []store.Redrive{{}, {ID: a, Delay: 5}, {ID: b}}
	for _, test := range []struct {
		script string
		args   []any
		want   []string
	}{
		{
			"reschedule", s.rescheduleArgs(p, store.RescheduleRequest{Caller: "c", Number: 4, Moves: moves}, 1),
			[]string{
				"dueq:{q}:events", "wake 3", "c", "00000000000000000004", "1", "2", fmt.Sprint(store.MaxDelay),
				a.String(), "k:k", "900", "0", "0", "5",
			},
		},
		{
			"redrive", s.redriveArgs(p, store.RedriveRequest{Caller: "c", Number: 4, Items: items, Of: 7}, 1),
			[]string{
				"dueq:{q}:events", "wake 3", "c", "00000000000000000004", "1", "2", "7",
				a.String(), b.String(), "5", "0",
			},
		},
	} {
		if got := shown(test.args); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q\nwant %q", test.script, got, test.want)
		}
	}
}

func TestReadAnswer(t *testing.T) {
	t.Parallel()
	id := route.NewID(0)
	const corrupt = 99
	for _, test := range []struct {
		name  string
		reply any
		done  int // corrupt: it cannot be read
		want  []store.PushResult
	}{
		{"all OK", []any{int64(3), ""}, 3, []store.PushResult{{}, {}, {}}},
		{"some are done", []any{int64(2), ""}, 2, []store.PushResult{{}, {}, {}}},
		{"no partition", []any{int64(-1), ""}, noPartition, []store.PushResult{{}, {}, {}}},
		{"stale", []any{int64(-2), ""}, staleCall, []store.PushResult{{}, {}, {}}},
		{
			"exceptions",
			[]any{int64(3), "1 9 - 3 1 " + id.String()},
			3,
			[]store.PushResult{{Code: store.CodeGone}, {}, {Code: store.CodeDuplicate, Holder: id}},
		},
		{"another declared", []any{int64(3), "2 0 " + id.String()}, 3, []store.PushResult{{}, {Holder: id}, {}}},
		{"holder of another program", []any{int64(3), "2 1 x"}, 3, []store.PushResult{{}, {Code: store.CodeDuplicate}, {}}},
		{"none is done", []any{int64(0), ""}, corrupt, nil},
		{"more than there are", []any{int64(4), ""}, corrupt, nil},
		{"done is a text", []any{"3", ""}, corrupt, nil},
		{"no exceptions", []any{int64(3)}, corrupt, nil},
		{"no id", []any{int64(3), "1 9"}, corrupt, nil},
		{"half an exception", []any{int64(3), "1 9 - 3"}, corrupt, nil},
		{"index 0", []any{int64(3), "0 9 -"}, corrupt, nil},
		{"index behind the last", []any{int64(3), "4 9 -"}, corrupt, nil},
		{"code unknown", []any{int64(3), "1 16 -"}, corrupt, nil},
		{"code is no number", []any{int64(3), "1 gone -"}, corrupt, nil},
		{"not a list", "3", corrupt, nil},
		{"nil", nil, corrupt, nil},
	} {
		results := make([]store.PushResult, 3)
		done, err := readAnswer(test.reply, results)
		switch {
		case test.done == corrupt:
			if !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("%s: %d, %v, want ErrCorrupt", test.name, done, err)
			}
		case err != nil || done != test.done || !reflect.DeepEqual(results, test.want):
			t.Errorf("%s: %d, %+v, %v, want %d, %+v", test.name, done, results, err, test.done, test.want)
		}
	}
}

func TestReplies_RubbishIsCorrupt(t *testing.T) {
	t.Parallel()
	id, record := route.NewID(0).String(), string(encodeRecord(&store.Message{MaxAttempts: 1}))
	get := func(at, history, size any) error {
		_, err := readGet([]any{"ready", id, at, record, history, nil, nil, size, nil, nil})
		return err
	}
	list := func(more, score, size any) error {
		_, err := readPage(store.ListRequest{State: store.Ready}, []any{more, id, score, record, size, nil, nil, nil, nil, nil})
		return err
	}
	settings := func(i int, value any) error {
		fields := make([]any, len(settingsFields()))
		fields[0], fields[1], fields[2] = "1", "5", "1"
		if i > 0 {
			fields[i] = value
		}
		_, _, err := readCopy(fields)
		return err
	}
	for _, test := range []struct {
		name string
		err  error
		want string // in the error; "": there is none
	}{
		{"get", get("1700000000000", "1 0 n", nil), ""},
		{"get, score of another program", get("1.5", nil, nil), ""},
		{"get, at", get("then", nil, nil), `reply of get: at "then"`},
		{"get, no at", get(nil, nil, nil), `reply of get: at "<nil>"`},
		{"get, body size", get("1", nil, "large"), `body size "large"`},
		{"get, deliveries", get("1", "one 0 n", nil), `history "one 0 n"`},
		{"get, failures", get("1", "1  n", nil), `history "1  n"`},
		{"get, snoozes", get("1", "1 0.x n", nil), `history "1 0.x n"`},
		{"get, short history", get("1", "1 0", nil), `history "1 0"`},
		{"list", list(int64(0), "1", int64(3)), ""},
		{"list, more", list("x", "1", int64(3)), `reply of list: more "x"`},
		{"list, score", list(int64(0), "x", int64(3)), `score "x"`},
		{"list, body size", list(int64(0), "1", nil), `body size "<nil>"`},
		{"settings", settings(0, nil), ""},
		{"settings, version", settings(1, "new"), `version "new"`},
		{"settings, partitions", settings(2, "x"), `partitions "x"`},
		{"settings, paused", settings(4+slices.Index(settingsNames(), "paused"), "yes"), `paused "yes"`},
	} {
		switch {
		case test.want == "" && test.err != nil:
			t.Errorf("%s: %v", test.name, test.err)
		case test.want != "" && (!errors.Is(test.err, store.ErrCorrupt) || !strings.Contains(test.err.Error(), test.want)):
			t.Errorf("%s: %v, want %q and ErrCorrupt", test.name, test.err, test.want)
		}
	}
}
