package dueqtest

import (
	"context"
	"errors"
	"sync"

	"github.com/dueq-dev/dueq/store"
)

// faults is a store whose calls can be made to fail.
type faults struct {
	store.Store

	mu     sync.Mutex
	send   error
	settle error
}

func (f *faults) set(which *error, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*which = err
}

func (f *faults) get(which *error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *which
}

// made reports whether err is what settles are made to fail with.
func (f *faults) made(err error) bool {
	fault := f.get(&f.settle)
	return fault != nil && errors.Is(err, fault)
}

// Push fails when sends do.
func (f *faults) Push(ctx context.Context, p store.Partition, r store.PushRequest) ([]store.PushResult, error) {
	if err := f.get(&f.send); err != nil {
		return nil, err
	}
	return f.Store.Push(ctx, p, r)
}

// Settle fails when settles do.
func (f *faults) Settle(ctx context.Context, p store.Partition, r store.SettleRequest) ([]store.Code, error) {
	if err := f.get(&f.settle); err != nil {
		return nil, err
	}
	return f.Store.Settle(ctx, p, r)
}
