package wal

import (
	"runtime"
	"sync"
)

const (
	// readersMost bounds how many segments are read at a time. More would not help, because
	// one goroutine applies their frames.
	readersMost = 4
	// readAheadMost bounds the bytes of segments that are in memory at a time, unless there
	// is only one.
	readAheadMost = 64 << 20
)

// readAhead reads segments ahead of where they are applied.
type readAhead struct {
	all     []*reading // the oldest segment first
	most    int        // how many are read at a time
	started int        // how many of all were begun to be read
	taken   int        // how many of all were returned by next
	bytes   int        // of segments in memory
	stopped chan struct{}
	readers sync.WaitGroup
}

// readAhead prepares the reading of all segments.
func (l *Log) readAhead(read ReadFunc) *readAhead {
	a := &readAhead{most: min(runtime.GOMAXPROCS(0), readersMost), stopped: make(chan struct{})}
	for i, s := range l.segments {
		// Segments before the last one with content were made durable before anything was
		// written behind them.
		mayBeTorn := l.emptyFrom(i + 1)
		a.all = append(a.all, newReading(s, read, mayBeTorn, a.stopped))
	}
	return a
}

// next returns the reading of the next segment, when the one before has been applied.
func (a *readAhead) next() *reading {
	if a.taken > 0 {
		a.bytes -= a.all[a.taken-1].bytes
		a.all[a.taken-1] = nil // so that its memory is freed
	}
	for a.started < len(a.all) && a.mayStart() {
		a.readers.Go(a.all[a.started].run)
		a.bytes += a.all[a.started].bytes
		a.started++
	}
	a.taken++
	return a.all[a.taken-1]
}

func (a *readAhead) mayStart() bool {
	underWay := a.started - a.taken
	return underWay == 0 || underWay < a.most && a.bytes+a.all[a.started].bytes <= readAheadMost
}

// stop ends all reading, and returns when it has ended.
func (a *readAhead) stop() {
	close(a.stopped)
	a.readers.Wait()
}
