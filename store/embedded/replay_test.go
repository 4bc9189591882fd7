package embedded

import (
	"math/rand/v2"
	"testing"

	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
	"github.com/dueq-dev/dueq/store/embedded/internal/wal"
)

// Whatever a frame with a good checksum says: it is replayed or refused. Headers and
// keys of what it puts can be read.
func FuzzReplay(f *testing.F) {
	f.Add(appendDeleted("orders"))
	for _, body := range someFrames(f) {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		s := newReplayer(t.Context(), newStore(Config{}))
		apply, err := s.read(wal.Spot{Segment: 1, Offset: 44}, body)
		if err != nil {
			return
		}
		if err := apply(); err != nil {
			t.Fatal(err)
		}
		s.sortAll()
		for _, p := range s.allPartitions() {
			p.byID.each(func(e *entry) { e.content.headers() })
			p.mend(instant{})
		}
	})
}

// someFrames returns the frames of a script.
func someFrames(f *testing.F) [][]byte {
	f.Helper()
	x := &script{rng: rand.New(rand.NewPCG(5, 5)), clock: &handClock{}, disk: faultdisk.New()}
	s, err := openOn(f.Context(), x.disk, Config{Now: x.clock.Now, Logger: quiet}, tuning{byHand: true})
	if err != nil {
		f.Fatal(err)
	}
	x.s = s
	r := &rig{TB: f, Store: s, clock: x.clock}
	for range 50 {
		r.p.Queue = "orders"
		x.number++
		if _, err := s.Push(f.Context(), r.p, x.pushRequest(r.p)); err != nil {
			f.Fatal(err)
		}
		if _, err := x.claim(f.Context(), r.p); err != nil {
			f.Fatal(err)
		}
		if _, err := x.settle(f.Context(), r.p); err != nil {
			f.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	var frames [][]byte
	log, err := wal.Open(wal.Config{Disk: x.disk}, func(_ wal.Spot, body []byte) (func() error, error) {
		return func() error {
			frames = append(frames, body)
			return nil
		}, nil
	})
	if err != nil {
		f.Fatal(err)
	}
	if err := log.Close(); err != nil {
		f.Fatal(err)
	}
	return frames
}
