// Package redisstore keeps queues on Redis 6.2 or newer, or Valkey: one server,
// Sentinel, or Cluster.
package redisstore

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/store"
)

// Config of a Store. The zero value means the documented defaults.
type Config struct {
	Prefix         string        // of every key, ^[A-Za-z0-9._-]{1,32}$; "": "dueq"
	Replicas       int           // that must have a push before it returns; 0: none
	ReplicaTimeout time.Duration // how long to wait for them; 0: 1 s
	Logger         *slog.Logger  // nil: slog.Default()
}

// Store is a store.Store on Redis.
type Store struct{ rdb redis.UniversalClient }

// New returns a store on rdb, which the caller keeps and closes after the store. It
// makes no call; a Config that is not valid makes every method return ErrInvalid.
func New(rdb redis.UniversalClient, _ Config) *Store { return &Store{rdb: rdb} }

// NewOwning is New, but Close closes rdb too.
func NewOwning(rdb redis.UniversalClient, c Config) *Store { return New(rdb, c) }

var errStub = errors.New("redisstore: not written yet")

func (s *Store) Push(context.Context, store.Partition, store.PushRequest) ([]store.PushResult, error) {
	return nil, errStub
}
func (s *Store) Claim(context.Context, store.Partition, store.ClaimRequest) (store.ClaimResult, error) {
	return store.ClaimResult{}, errStub
}
func (s *Store) Settle(context.Context, store.Partition, store.SettleRequest) ([]store.Code, error) {
	return nil, errStub
}
func (s *Store) Cancel(context.Context, store.Partition, []store.Ref) ([]store.Code, error) {
	return nil, errStub
}
func (s *Store) Reschedule(context.Context, store.Partition, []store.Move) ([]store.Code, error) {
	return nil, errStub
}
func (s *Store) Get(context.Context, store.Partition, store.Ref) (store.Record, error) {
	return store.Record{}, errStub
}
func (s *Store) List(context.Context, store.Partition, store.ListRequest) (store.Page, error) {
	return store.Page{}, errStub
}
func (s *Store) Stats(context.Context, string) ([]store.Stats, error) { return nil, errStub }
func (s *Store) Redrive(context.Context, store.Partition, []store.ID) ([]store.PushResult, error) {
	return nil, errStub
}
func (s *Store) Purge(context.Context, store.Partition, store.PurgeRequest) (int, error) {
	return 0, errStub
}
func (s *Store) Configure(context.Context, string, store.Change) (store.Settings, error) {
	return store.Settings{}, errStub
}
func (s *Store) Heartbeat(context.Context, string, string, int64) ([]string, error) {
	return nil, errStub
}
func (s *Store) Watch(context.Context, string, func(store.Event)) error { return errStub }
func (s *Store) Check(context.Context, store.Partition, store.CheckRequest) (store.CheckResult, error) {
	return store.CheckResult{}, errStub
}
func (s *Store) Close() error { return nil }

var _ store.Store = (*Store)(nil)
