package wal

import (
	"testing"

	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

func TestAppend_UsesMemoryOfWrittenFramesAgain(t *testing.T) {
	t.Parallel()
	r := open(t, faultdisk.New(), func(c *Config) { c.SegmentSize = 1 << 30 })
	body, arrays := string(make([]byte, 100_000)), map[*byte]bool{}
	for range 400 {
		_, end := r.put(body)
		r.must(r.Written(end))
		r.mu.Lock()
		arrays[&r.window.last().data[:1][0]] = true
		r.mu.Unlock()
	}
	if most := windowSize/chunkSize + freeMost; len(arrays) > most {
		t.Errorf("40 MB of frames took %d chunks of memory, want %d at most", len(arrays), most)
	}
	r.closed()
}
