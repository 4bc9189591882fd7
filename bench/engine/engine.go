// Package engine implements the operations of a delayed queue on embedded databases: send, lease a
// due message, ack. Each is durable when it returns.
package engine

import (
	"context"
	"sync"
)

// Engine is a queue in a directory of its own. Its methods are called from many
// goroutines at once.
type Engine interface {
	// Send stores messages that are due now, or in an hour.
	Send(ctx context.Context, bodies [][]byte, later bool) error
	// Take leases one message that is due, then acks it, in two steps that are both durable.
	Take(ctx context.Context) error
	// Close releases the directory.
	Close() error
}

// Opener makes an Engine in an empty directory.
type Opener struct {
	Name string
	Open func(ctx context.Context, dir string) (Engine, error)
}

// All are the engines, in the order of the table.
func All() []Opener {
	return []Opener{
		{"dueq, embedded engine", openPort},
		{"dueq, library on `file:`", openDueq},
		{"SQLite (modernc), WAL, synchronous=FULL", openSQLite},
		{"bbolt", openBolt},
	}
}

// step is one change of a database. Its result is reported after its transaction was committed.
type step struct {
	run  func() error
	done chan error
}

// group lets many goroutines share transactions, and so the fsyncs: steps that arrive during a commit
// share the next transaction. It is for databases that have no group commit.
type group struct {
	commit func(run func() error) error // runs run in a transaction

	mu      sync.Mutex
	pending []step
	busy    bool
}

// do runs a step in a transaction and returns when that is on disk.
func (g *group) do(run func() error) error {
	s := step{run: run, done: make(chan error, 1)}
	g.mu.Lock()
	g.pending = append(g.pending, s)
	lead := !g.busy
	g.busy = true
	g.mu.Unlock()
	if lead {
		g.lead()
	}
	return <-s.done
}

// lead commits until no steps are left.
func (g *group) lead() {
	for {
		g.mu.Lock()
		all := g.pending
		g.pending = nil
		g.busy = len(all) > 0
		g.mu.Unlock()
		if len(all) == 0 {
			return
		}
		g.together(all)
	}
}

func (g *group) together(all []step) {
	err := g.commit(func() error {
		for _, s := range all {
			if err := s.run(); err != nil {
				return err
			}
		}
		return nil
	})
	for _, s := range all {
		s.done <- err
	}
}
