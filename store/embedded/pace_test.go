package embedded

import (
	"context"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// pacedRig is a store with 600 KB of messages in sealed segments.
func pacedRig(t *testing.T) *rig {
	t.Helper()
	r := diskRig(t, faultdisk.New())
	for n := range 600 {
		m := message(n + 1)
		m.Body = make([]byte, 1000)
		r.push(m)
	}
	r.must(r.care.log.Roll())
	return r
}

// mergeAll merges everything at the pace of calls, of which pause makes some, and returns
// how many bytes the merge and how many others have appended.
func (r *rig) mergeAll(pause func() (appended int64)) (merged, others int64) {
	r.Helper()
	r.care.pause = func(context.Context, time.Duration) error {
		others += pause()
		return nil
	}
	pace := newPacer(r.care, 1<<40) // far from so much garbage that it matters
	began := r.log.End()
	for oldest, last := r.log.Ends(); oldest < last; oldest, _ = r.log.Ends() {
		r.must(r.care.mergePaced(r.Context(), oldest, pace))
	}
	return int64(r.log.End()-began) - others, others
}

func TestMerge_WritesAFewBytesForEachByteOfCalls(t *testing.T) {
	t.Parallel()
	r := pacedRig(t)
	next := 1000
	merged, others := r.mergeAll(func() int64 {
		before := r.log.End()
		next++
		m := message(next)
		m.Body = make([]byte, 3000)
		r.push(m)
		return int64(r.log.End() - before)
	})
	if merged < 600_000 {
		t.Errorf("merged only %d bytes", merged)
	}
	if most := paceLeast*others + 2*paceStep; merged > most {
		t.Errorf("merged %d bytes while calls appended %d, want at most %d", merged, others, most)
	}
}

func TestMerge_ContinuesWithoutCalls(t *testing.T) {
	t.Parallel()
	r := pacedRig(t)
	pauses := 0
	r.mergeAll(func() int64 { pauses++; return 0 })
	if pauses != pacePauses {
		t.Errorf("%d pauses, want %d to notice that there are no calls, and no more", pauses, pacePauses)
	}
}

// The more garbage there is, the faster it is collected.
func TestMerge_PaceRisesWithGarbage(t *testing.T) {
	t.Parallel()
	r := pacedRig(t)
	garbage := r.care.garbage()
	calm, pressed := newPacer(r.care, garbage), newPacer(r.care, garbage/2)
	if calm.perByte() != paceLeast || pressed.perByte() < paceLeast+paceRise {
		t.Errorf("%d and, with twice as much garbage as is put up with, %d bytes a byte", calm.perByte(), pressed.perByte())
	}
}
