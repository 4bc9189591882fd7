package redisstore

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/internal/route"
	"github.com/dueq-dev/dueq/store"
)

func TestReadClaim(t *testing.T) {
	t.Parallel()
	a, b, c := route.NewID(1), route.NewID(1), route.NewID(1)
	plain := func(body string) string {
		return string(encodeRecord(&store.Message{MaxAttempts: 5, Body: []byte(body)}))
	}
	keyed := string(encodeRecord(&store.Message{Key: "k", Repeat: "every 1h", Headers: map[string]string{"n": "v"}, MaxAttempts: 3}))
	tests := []struct {
		name       string
		fields     []string
		want       store.ClaimResult
		unreadable []string
	}{
		{"nothing", []string{"0", "1500"}, store.ClaimResult{Wait: 1500 * time.Microsecond}, nil},
		{"paused", []string{"1", "7"}, store.ClaimResult{Wait: 7 * time.Microsecond, Paused: true}, nil},
		{"stale", []string{"2", "0"}, store.ClaimResult{Stale: true}, nil},
		{
			"two of the same due time, one of another",
			[]string{"0", "0", fmt.Sprintf("100 2 %s %s:2 200 1 %s:3k", a, b, c), "2 1 0 1 0 0 3 2 1 2 4 900", plain("x"), plain(""), keyed},
			store.ClaimResult{Deliveries: []store.Delivery{
				{Receipt: store.Receipt{ID: a, Attempt: 1}, Body: []byte("x"), Due: 100, MaxAttempts: 5},
				{Receipt: store.Receipt{ID: b, Attempt: 2}, Body: []byte{}, Due: 100, MaxAttempts: 5, Failures: 1, Suspicion: store.Suspect},
				{
					Receipt: store.Receipt{ID: c, Attempt: 3, Keyed: true}, Key: "k", Headers: map[string]string{"n": "v"}, Body: []byte{}, Due: 200, MaxAttempts: 3,
					Earlier: 4, Failures: 2, Snoozes: 1, Suspicion: store.Crashed, Repeat: "every 1h", Now: 900,
				},
			}},
			nil,
		},
		{
			"unreadable ones among others",
			[]string{"0", "0", fmt.Sprintf("100 3 %s nonsense-of-26-characters-- %s", a, c), "1 1 0 0 0 0 3 2 0 0 0 0", "garbage", plain("y"), plain("z")},
			store.ClaimResult{Deliveries: []store.Delivery{
				{Receipt: store.Receipt{ID: c, Attempt: 1}, Body: []byte("z"), Due: 100, MaxAttempts: 5, Failures: 2},
			}},
			[]string{a.String(), "nonsense-of-26-characters--"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := readClaim(test.fields)
			if err != nil || !reflect.DeepEqual(got.ClaimResult, test.want) {
				t.Errorf("%+v, %v\nwant %+v", got.ClaimResult, err, test.want)
			}
			var unreadable []string
			for _, u := range got.unreadable {
				unreadable = append(unreadable, u.text)
			}
			if !slices.Equal(unreadable, test.unreadable) {
				t.Errorf("unreadable: %q, want %q", unreadable, test.unreadable)
			}
		})
	}
}

func TestReadClaim_RubbishIsCorrupt(t *testing.T) {
	t.Parallel()
	id := route.NewID(1).String()
	record := string(encodeRecord(&store.Message{MaxAttempts: 5}))
	for _, test := range []struct {
		name   string
		fields []string
		want   string // in the error
	}{
		{"nothing", nil, "unexpected answer"},
		{"no wait", []string{"0"}, "unexpected answer"},
		{"runs without histories", []string{"0", "0", "100 1 " + id}, "unexpected answer"},
		{"no records", []string{"0", "0", "", ""}, "unexpected answer"},
		{"status", []string{"7", "0"}, `status "7"`},
		{"status is no number", []string{"x", "0"}, `status "x"`},
		{"wait", []string{"0", "soon"}, `wait "soon"`},
		{"due time", []string{"0", "0", "then 1 " + id, "", record}, `due time "then"`},
		{"no count", []string{"0", "0", "100", "", record}, `count ""`},
		{"count is a receipt", []string{"0", "0", "100 " + id, "", record}, `count "` + id},
		{"count of none", []string{"0", "0", "100 0 " + id, "", record}, `count "0"`},
		{"receipt is missing", []string{"0", "0", "100 2 " + id, "", record, record}, `receipt ""`},
		{"too few records", []string{"0", "0", "100 2 " + id + " " + id, "", record}, "more receipts"},
		{"count is of more than the records", []string{"0", "0", "100 2 " + id, "", record}, "more receipts"},
		{"too few runs", []string{"0", "0", "100 1 " + id, "", record, record}, `due time ""`},
		{"five numbers of a history", []string{"0", "0", "100 1 " + id, "1 1 0 0 0", record}, `histories "1 1 0 0 0"`},
		{"a history in letters", []string{"0", "0", "100 1 " + id, "1 1 0 u 0 0", record}, `histories "u"`},
		{"suspicion", []string{"0", "0", "100 1 " + id, "1 1 0 3 0 0", record}, `histories "1 1 0 3 0 0"`},
		{"history of no record", []string{"0", "0", "100 1 " + id, "2 1 0 0 0 0", record}, "more receipts"},
		{"histories out of order", []string{"0", "0", "100 1 " + id, "1 1 0 0 0 0 1 1 0 0 0 0", record}, "histories"},
	} {
		if _, err := readClaim(test.fields); !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q and ErrCorrupt", test.name, err, test.want)
		}
	}
}

// FuzzReadClaim checks that each record becomes one delivery or is reported, or that the reply is
// corrupt.
func FuzzReadClaim(f *testing.F) {
	id := route.NewID(0).String()
	record := encodeRecord(&store.Message{Key: "k", MaxAttempts: 3, Headers: map[string]string{"a": "b"}, Body: []byte("x")})
	f.Add("0", "1500", "100 2 "+id+" "+id+":2k 200 1 "+id, "1 2 1 1 4 900 2 1 0 0 0 0", record, []byte("garbage"))
	f.Add("2", "", "", "0 0", []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, status, wait, runs, histories string, first, second []byte) {
		reply, err := readClaim([]string{status, wait, runs, histories, string(first), string(second), string(first)})
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		if len(reply.Deliveries)+len(reply.unreadable) != 3 {
			t.Fatalf("%d deliveries and %d unreadable of 3 records", len(reply.Deliveries), len(reply.unreadable))
		}
		for _, d := range reply.Deliveries {
			if !bytes.HasSuffix(first, d.Body) && !bytes.HasSuffix(second, d.Body) {
				t.Fatalf("body %q of neither record", d.Body)
			}
			if !strings.Contains(runs, d.Receipt.ID.String()) {
				t.Fatalf("receipt %s is not in %q", d.Receipt, runs)
			}
		}
		for _, u := range reply.unreadable {
			if !errors.Is(u.cause, store.ErrCorrupt) && !errors.Is(u.cause, store.ErrInvalid) {
				t.Fatalf("%q: %v", u.text, u.cause)
			}
		}
	})
}

func TestPieces_BodiesAreSeparate(t *testing.T) {
	t.Parallel()
	var records, bodies []string
	for n := range 300 {
		body := strings.Repeat(string(rune('a'+n%26)), n*n%700+1_500*(n%50/49))
		bodies = append(bodies, body)
		records = append(records, string(encodeRecord(&store.Message{Body: []byte(body)})))
	}
	p := newPieces(records)
	var copies [][]byte
	for _, body := range bodies {
		copies = append(copies, p.copy(body))
	}
	for i, c := range copies {
		if string(c) != bodies[i] || c == nil {
			t.Fatalf("copy %d is %q, want %q", i, c, bodies[i])
		}
		_ = append(c, "behind the end"...)
		clear(c)
	}
	for i, c := range copies {
		if strings.Trim(string(c), "\x00") != "" {
			t.Errorf("copy %d is %q after an append to its neighbour", i, c)
		}
	}
}

// A body that a handler keeps must not keep the other messages of its claim in memory. The test
// counts allocations, so it is not parallel.
func TestPieces_AreSmall(t *testing.T) {
	for _, test := range []struct {
		name          string
		bodies, bytes int
		allocations   float64
	}{
		{"none", 500, 0, 0},
		{"one", 1, 100, 1},
		{"many", 400, 100, 400 / (pieceSize / 100)},
		{"large", 10, pieceSize/4 + 1, 10},
	} {
		body := strings.Repeat("x", test.bytes)
		records, kept := slices.Repeat([]string{body}, test.bodies), make([][]byte, test.bodies)
		got := testing.AllocsPerRun(10, func() {
			p := newPieces(records)
			for i := range kept {
				kept[i] = p.copy(body)
			}
		})
		if got != test.allocations {
			t.Errorf("%s: %v pieces of memory, want %v", test.name, got, test.allocations)
		}
	}
}
