package wal

import (
	"context"
	"runtime"
	"time"
)

// commitGroup is the calls that wait for the same sync.
type commitGroup struct {
	done    chan struct{}
	waiting int      // number of calls, under the log's mu
	upto    Position // set when the sync begins
	err     error    // set before done is closed
}

func newCommitGroup() *commitGroup { return &commitGroup{done: make(chan struct{})} }

func (g *commitGroup) finish(err error) {
	g.err = err
	close(g.done)
}

// Kept waits until everything up to a position is as durable as the settings of the log
// demand: on disk or, with SyncEvery and NeverSync, written to the file. It returns the
// error that stopped the log if that happens before, and ctx's error if ctx ends.
func (l *Log) Kept(ctx context.Context, upto Position) error {
	if l.syncEvery > 0 || l.neverSync {
		return l.Written(upto)
	}
	return l.Synced(ctx, upto)
}

// Synced waits until everything up to a position is on disk, whatever the settings.
func (l *Log) Synced(ctx context.Context, upto Position) error {
	g, err := l.join(upto)
	if g == nil {
		return err
	}
	select {
	case <-g.done:
		return g.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join returns the group whose sync includes a position; nil when there is nothing
// to wait for.
func (l *Log) join(upto Position) (*commitGroup, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.synced >= upto:
		return nil, nil
	case l.err != nil:
		return nil, l.err
	case l.inFlight != nil && l.inFlight.upto >= upto:
		l.inFlight.waiting++
		return l.inFlight, nil
	}
	l.wakeCommitter()
	l.next.waiting++
	return l.next, nil
}

func (l *Log) wakeCommitter() {
	select {
	case l.wake <- struct{}{}:
	default: // it was woken before and has not run since
	}
}

// Written returns when everything up to a position is in the file: it then survives the
// process, though not a power cut. It writes the missing bytes itself, also while the disk
// syncs earlier ones.
func (l *Log) Written(upto Position) error {
	l.mu.Lock()
	done, err := l.written >= upto, l.err
	l.mu.Unlock()
	if done || err != nil {
		return err
	}
	return l.write(upto)
}

// write brings everything up to a position into the files, in order.
func (l *Log) write(upto Position) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	for {
		l.mu.Lock()
		p, more := l.window.after(l.written)
		done, err := l.written >= upto, l.err
		l.mu.Unlock()
		if err != nil || done || !more {
			return err
		}
		if err := l.writePart(p); err != nil {
			return l.fail(err)
		}
		l.mu.Lock()
		l.written = p.end()
		l.window.forget(l.written)
		l.mu.Unlock()
	}
}

func (l *Log) writePart(p part) error {
	if l.current != p.segment {
		if err := l.leave(l.current); err != nil {
			return err
		}
		l.current = p.segment
	}
	_, err := p.segment.file.WriteAt(p.data, int64(p.offset))
	return err
}

// leave makes a full segment durable before the first byte goes to the next: so only
// the last segment that holds a frame can have a torn tail.
func (l *Log) leave(s *segment) error {
	if err := s.file.Sync(); err != nil {
		return err
	}
	l.mu.Lock()
	l.synced = max(l.synced, s.end())
	size := s.size
	l.mu.Unlock()
	return s.file.Truncate(int64(size)) // gives back what was allocated ahead
}

// commit runs in the log's one goroutine. It syncs for waiting calls as soon as the previous
// sync has returned. While one sync is in flight, calls join the next group.
func (l *Log) commit() {
	defer close(l.stopped)
	var tick <-chan time.Time
	if l.syncEvery > 0 {
		ticker := time.NewTicker(l.syncEvery)
		defer ticker.Stop()
		tick = ticker.C
	}
	idle := newStopped()
	defer idle.Stop()
	var last Position // at which the log rested, or tried to
	for {
		select {
		case <-l.closing:
			return
		case <-idle.C:
			_ = l.rest() // a failure stops the log, which the next call reports
			continue
		case <-tick:
		case <-l.wake:
			l.gather()
		}
		_ = l.sync() // the waiting calls get the error
		if now := l.unrested(); now != last && now > 0 && l.restAfter > 0 && !l.neverSync {
			last = now
			idle.Reset(l.restAfter)
		}
	}
}

// newStopped returns a timer that is not running.
func newStopped() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// unrested returns up to where the log is on disk; 0 if that is where it rested.
func (l *Log) unrested() Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.synced == l.rested {
		return 0
	}
	return l.synced
}

// gather waits for callers that the last sync has released, so that frames which they append
// now are in the next sync and not in the one after it. It waits for at most half of the
// time that the last sync took, and not at all if as many calls wait as did then.
func (l *Log) gather() {
	began := time.Now()
	for l.fewer() && time.Since(began) < l.lastSync/2 {
		runtime.Gosched()
	}
}

// fewer reports whether fewer calls wait for the next sync than did for the last.
func (l *Log) fewer() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next.waiting < l.lastWaiting
}

// sync makes everything appended durable, and releases the calls that wait for it.
func (l *Log) sync() error {
	l.mu.Lock()
	g := l.next
	g.upto = l.active().end()
	l.next, l.inFlight = newCommitGroup(), g
	failed, idle := l.err, l.synced >= g.upto
	l.mu.Unlock()
	err := failed
	if err == nil && !idle {
		began := time.Now()
		err = l.syncTo(g.upto)
		l.lastSync = time.Since(began)
	}
	l.mu.Lock()
	l.lastWaiting = g.waiting
	if err == nil {
		l.synced = max(l.synced, g.upto)
	}
	l.inFlight = nil
	l.mu.Unlock()
	g.finish(err)
	return err
}

func (l *Log) syncTo(upto Position) error {
	if err := l.write(upto); err != nil {
		return err
	}
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.writing.Lock()
	s := l.current // segments before it are durable since it was begun
	l.writing.Unlock()
	if err := s.file.Sync(); err != nil {
		return l.fail(err)
	}
	return nil
}
