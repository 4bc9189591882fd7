package wal

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// What a log says is applied in its order by one goroutine, whatever order it is read in.
func TestOpen_AppliesInOrderWhatIsReadAhead(t *testing.T) {
	t.Parallel()
	d := faultdisk.New()
	r := open(t, d, nil)
	var want []string
	for n := range 2000 {
		want = append(want, fmt.Sprint(n, strings.Repeat(".", n%300)))
		r.put(want[n])
	}
	r.closed()
	names, err := d.List()
	r.must(err)
	if len(names) < 10 {
		t.Fatalf("only %d segments", len(names))
	}
	var mu sync.Mutex
	read, applied := 0, []string(nil)
	l, err := Open(Config{Disk: d, Logger: quiet}, func(_ Spot, body []byte) (func() error, error) {
		mu.Lock()
		read++
		mu.Unlock()
		return func() error {
			applied = append(applied, string(body)) // a race, were there two
			return nil
		}, nil
	})
	r.must(err)
	r.must(l.Close())
	if read != len(want) || !slices.Equal(applied, want) {
		t.Errorf("%d frames were read and %d applied, of %d, or not in order", read, len(applied), len(want))
	}
}

// The first of several errors in the order of the log is the one that is returned, and
// nothing behind it is applied.
func TestOpen_FirstErrorInTheOrderOfTheLog(t *testing.T) {
	t.Parallel()
	content, frames := threeSegments(t)
	for _, at := range []string{frames[0][1], frames[1][0], frames[2][2]} {
		var applied []string
		_, err := Open(Config{Disk: diskOf(content), Logger: quiet}, func(_ Spot, body []byte) (func() error, error) {
			if string(body) >= at {
				return nil, fmt.Errorf("refused %s", body)
			}
			return func() error {
				applied = append(applied, string(body))
				return nil
			}, nil
		})
		all := slices.Concat(frames...)
		first := slices.IndexFunc(all, func(body string) bool { return body >= at })
		if err == nil || !strings.HasSuffix(err.Error(), "refused "+all[first]) || !slices.Equal(applied, all[:first]) {
			t.Errorf("from %q on: applied %q, then %v", at, applied, err)
		}
	}
}

// Segments are read ahead as long as they fit into memory, and one in any case.
func TestReadAhead_IsBounded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		each int // bytes
		want int // read at a time
	}{
		{"small", 1 << 20, 4}, {"usual", 32 << 20, 2}, {"large", 1 << 30, 1},
	} {
		a := &readAhead{most: readersMost}
		for range 10 {
			a.all = append(a.all, &reading{bytes: tt.each})
		}
		for a.mayStart() {
			a.bytes += tt.each
			a.started++
		}
		if a.started != tt.want {
			t.Errorf("%s segments: %d are read at a time, want %d", tt.name, a.started, tt.want)
		}
	}
}
