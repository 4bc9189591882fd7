package failurelog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dueq-dev/dueq/store"
)

func TestWith(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", store.MaxFailure/2)
	log := ""
	var want []store.Failure
	for i, text := range []string{"gone by the end", "12 3 4 looks like a head", long, "x" + long[1:], "", "a\x00\nb", "newest"} {
		f := store.Failure{At: int64(1000 + i), Attempt: i + 1, Text: text}
		log = With(log, f)
		want = append([]store.Failure{f}, want...)
		if newest, alone := Newest(log); newest != f || alone != (i == 0) {
			t.Errorf("the newest is %v, alone %t, want %v", newest, alone, f)
		}
	}
	want = want[:store.MaxRecentFailures]
	want[4].Text = long[:store.MaxOlderFailure]
	want[3].Text = "x" + long[1:store.MaxOlderFailure] // bytes that are no text are cut like others
	got, ok := Parse(log)
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("%t, (-want +got):\n%s", ok, diff)
	}
	if most := MaxHead*store.MaxRecentFailures + store.MaxFailure + 4*store.MaxOlderFailure; len(log) > most {
		t.Errorf("%d bytes, at most %d", len(log), most)
	}
}

func TestWith_CutsNoCharacterInHalf(t *testing.T) {
	t.Parallel()
	for shift := range 4 {
		text := strings.Repeat("a", shift) + strings.Repeat("\U0001F600", 60)
		log := With(With("", store.Failure{Text: text}), store.Failure{})
		got, _ := Parse(log)
		if older := got[1].Text; !strings.HasPrefix(text, older) || len(older) <= store.MaxOlderFailure-4 || (len(older)-shift)%4 != 0 {
			t.Errorf("of %d bytes %d are left", len(text), len(older))
		}
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	recent := []store.Failure{{At: 2, Attempt: 2, Text: "b"}, {At: 1, Attempt: 1, Text: "a"}}
	for _, c := range []struct {
		r    store.Record
		want []store.Failure
	}{
		{store.Record{}, nil},
		{store.Record{LastFailure: "b", RecentFailures: recent}, recent},
		{store.Record{LastFailure: "b"}, []store.Failure{{Text: "b"}}},
	} {
		if got, ok := Parse(Of(&c.r)); !ok || !cmp.Equal(got, c.want) {
			t.Errorf("%v, %t, want %v", got, ok, c.want)
		}
	}
}

func TestParse_NoLog(t *testing.T) {
	t.Parallel()
	good := With("", store.Failure{At: 1, Attempt: 1, Text: "text"})
	for _, log := range []string{"x", "1 1 ", "1 1 5 text", "1 1 -1 text", "a 1 4 text", "1 b 4 text", "1 1 c text", good[:len(good)-1], good + "1 1"} {
		if got, ok := Parse(log); ok {
			t.Errorf("%q is read as %v", log, got)
		}
	}
	if got, ok := Parse(good + "x"); ok || len(got) != 1 {
		t.Errorf("what can be read of it is %v, %t", got, ok)
	}
}

// Whatever there was before, the newest delivery is first.
func FuzzWith(f *testing.F) {
	f.Add("", int64(0), 0, "")
	f.Add(fmt.Sprintf("1 1 %d %s2 2 1 b", 300, strings.Repeat("é", 150)), int64(1), 1, "text")
	f.Fuzz(func(t *testing.T, log string, at int64, attempt int, text string) {
		failure := store.Failure{At: at, Attempt: attempt, Text: text}
		got, ok := Parse(With(log, failure))
		before, _ := Parse(log)
		if !ok || got[0] != failure || len(got) != 1+min(len(before), store.MaxRecentFailures-1) {
			t.Fatalf("%q and %v: %v, %t", log, failure, got, ok)
		}
	})
}
