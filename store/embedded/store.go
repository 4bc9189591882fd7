// Package embedded keeps queues in the memory of the process. It is the reference
// for what every [store.Store] does: the state machine in plain Go.
package embedded

import (
	"context"
	"errors"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// Config of a Store. The zero value is ready to use.
type Config struct {
	Now func() time.Time // the store's clock; nil: time.Now
}

// Store is a store.Store in memory.
type Store struct {
	now func() time.Time
}

var _ store.Store = (*Store)(nil)

var errTODO = errors.New("not built yet")

// NewMemory returns an empty store that lives as long as the process.
func NewMemory(c Config) *Store { return &Store{now: c.Now} }

// ClockMoved tells watchers to look at every partition again, because the clock was
// moved by hand.
func (s *Store) ClockMoved() {}

func (s *Store) Push(context.Context, store.Partition, store.PushRequest) ([]store.PushResult, error) {
	return nil, errTODO
}

func (s *Store) Claim(context.Context, store.Partition, store.ClaimRequest) (store.ClaimResult, error) {
	return store.ClaimResult{}, errTODO
}

func (s *Store) Settle(context.Context, store.Partition, store.SettleRequest) ([]store.Code, error) {
	return nil, errTODO
}

func (s *Store) Cancel(context.Context, store.Partition, []store.Ref) ([]store.Code, error) {
	return nil, errTODO
}

func (s *Store) Reschedule(context.Context, store.Partition, []store.Move) ([]store.Code, error) {
	return nil, errTODO
}

func (s *Store) Get(context.Context, store.Partition, store.Ref) (store.Record, error) {
	return store.Record{}, errTODO
}

func (s *Store) List(context.Context, store.Partition, store.ListRequest) (store.Page, error) {
	return store.Page{}, errTODO
}

func (s *Store) Stats(context.Context, string) ([]store.Stats, error) { return nil, errTODO }

func (s *Store) Redrive(context.Context, store.Partition, []store.ID) ([]store.PushResult, error) {
	return nil, errTODO
}

func (s *Store) Purge(context.Context, store.Partition, store.PurgeRequest) (int, error) {
	return 0, errTODO
}

func (s *Store) Configure(context.Context, string, store.Change) (store.Settings, error) {
	return store.Settings{}, errTODO
}

func (s *Store) Heartbeat(context.Context, string, string, int64) ([]string, error) {
	return nil, errTODO
}

func (s *Store) Watch(context.Context, string, func(store.Event)) error { return errTODO }

func (s *Store) Check(context.Context, store.Partition, store.CheckRequest) (store.CheckResult, error) {
	return store.CheckResult{}, errTODO
}

// Close forgets everything.
func (s *Store) Close() error { return nil }
