package system

import "sync"

// workers runs functions on a bounded number of goroutines.
type workers struct {
	free    chan struct{}
	running sync.WaitGroup
}

func newWorkers(n int) *workers { return &workers{free: make(chan struct{}, n)} }

// do runs f as soon as a worker is free.
func (w *workers) do(f func()) {
	w.free <- struct{}{}
	w.running.Go(func() {
		defer func() { <-w.free }()
		f()
	})
}

// wait returns when all of them are done.
func (w *workers) wait() { w.running.Wait() }
