package engine

import (
	"errors"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every engine does the same work: each message is taken once, in any order.
func TestEngine_EachReturnsWhatWasSent(t *testing.T) {
	for _, o := range All() {
		t.Run(o.Name, func(t *testing.T) {
			ctx := t.Context()
			e, err := o.Open(ctx, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Send(ctx, [][]byte{body(), body()}, false); err != nil {
				t.Fatal(err)
			}
			if err := e.Send(ctx, [][]byte{body()}, true); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := e.Take(ctx); err != nil {
					t.Fatal(err)
				}
			}
			if err := e.Take(ctx); err == nil {
				t.Error("took a third message that is due in an hour")
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestGroup_EveryStepGetsItsResult(t *testing.T) {
	failure := errors.New("no")
	commits := 0
	g := group{commit: func(run func() error) error {
		commits++
		return run()
	}}
	var running sync.WaitGroup
	for i := range 100 {
		running.Go(func() {
			if err := g.do(func() error { return nil }); err != nil {
				t.Errorf("step %d: %v", i, err)
			}
		})
	}
	running.Wait()
	if err := g.do(func() error { return failure }); !errors.Is(err, failure) || commits > 101 {
		t.Errorf("got %v after %d commits", err, commits)
	}
}
