package rawredis

import (
	"testing"
	"time"

	"github.com/dueq-dev/dueq/internal/redistest"
)

func TestLongest_OfTheCommandsSinceTheCallBefore(t *testing.T) {
	t.Parallel()
	s, err := Dial("redis://"+redistest.Start(t, "--enable-debug-command", "yes").Addr(), "own")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	longest := func() (n int, longest time.Duration) {
		t.Helper()
		n, longest, err := s.Longest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n, longest
	}
	longest()
	if err := s.rdb.Do(t.Context(), "DEBUG", "SLEEP", "0.5").Err(); err != nil {
		t.Fatal(err)
	}
	if n, most := longest(); n < 1 || most < 500*time.Millisecond {
		t.Errorf("%d commands, the longest %v; want one of 500 ms", n, most)
	}
	if _, most := longest(); most >= 500*time.Millisecond {
		t.Errorf("%v of a command that was reported before", most)
	}
}
