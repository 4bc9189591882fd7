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

// made reports whether err is the error with which settles are made to fail.
func (f *faults) made(err error) bool {
	for _, which := range []*error{&f.settle, &f.send} {
		if fault := f.get(which); fault != nil && errors.Is(err, fault) {
			return true
		}
	}
	return false
}

// Push fails when sends do.
func (f *faults) Push(ctx context.Context, p store.Partition, r store.PushRequest) ([]store.PushResult, error) {
	if err := f.get(&f.send); err != nil {
		return nil, err
	}
	return f.Store.Push(ctx, p, r)
}

// Settle fails when settles do, and with messages to be stored also when sends do.
func (f *faults) Settle(ctx context.Context, p store.Partition, r store.SettleRequest) ([]store.Code, error) {
	if err := f.get(&f.settle); err != nil {
		return nil, err
	}
	if err := f.get(&f.send); err != nil && r.Verdict == store.Next {
		return nil, err
	}
	return f.Store.Settle(ctx, p, r)
}

// Extend fails when settles do: both need the lease.
func (f *faults) Extend(ctx context.Context, p store.Partition, r store.ExtendRequest) ([]store.Code, error) {
	if err := f.get(&f.settle); err != nil {
		return nil, err
	}
	return f.Store.Extend(ctx, p, r)
}
