package wal

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/store/embedded/internal/disk"
)

// Position is a position in the whole log: the number of bytes appended before it since the
// log was opened. It is not valid after the log was closed.
type Position int64

// Spot is a position in a segment, for reading. The zero Spot is none.
type Spot struct{ Segment, Offset uint32 }

// Config of a Log. Zero values are defaults.
type Config struct {
	Disk disk.Disk
	// SyncEvery makes Kept wait for the file only, and syncs the file that often.
	SyncEvery time.Duration
	// NeverSync leaves it to the operating system when to sync, segments that are
	// full apart.
	NeverSync bool
	// SegmentSize is the size in bytes at which a segment is full; 0 is 1/16 of the log,
	// within 1 MiB and 32 MiB, and more in logs beyond 8 GiB. One can become larger by what
	// was under way when it reached it.
	SegmentSize int
	// Needs returns the space to be reserved for the time when the disk is full; nil is none.
	// It is called with locks held and must not call the log.
	Needs func() Needs
	// Salvage makes Open skip damage and list it in Log.Damage.
	Salvage bool
	// RestAfter is how long after the last sync the log leaves proof that everything is on
	// disk, see rest; 0 is never, and so is NeverSync.
	RestAfter time.Duration
	// Checksum continues a checksum of frames; nil is CRC-32C. For tests that break it.
	Checksum func(sum uint32, b []byte) uint32
	Logger   *slog.Logger // nil is slog.Default()
}

// Errors of a log.
var (
	// ErrStopped means that a write or a sync failed: from then on nothing can be
	// appended, but everything can be read.
	ErrStopped = errors.New("the log has stopped")
	ErrClosed  = errors.New("the log is closed")
	// ErrGivenUp returned by apply makes Open return that error and not report damage.
	ErrGivenUp = errors.New("reading the log was given up")
	// ErrNoSegment means that Read was asked for a segment that does not exist.
	ErrNoSegment = errors.New("there is no such segment")
	// ErrFull means that there is no space for the bytes that Admit was asked for. Nothing
	// was changed, and the log can be used.
	ErrFull = disk.ErrFull
)

// Log is an append-only log. All methods are safe for concurrent use.
type Log struct {
	disk        disk.Disk
	logger      *slog.Logger
	sum         func(sum uint32, b []byte) uint32
	store       [storeSize]byte // see identity
	highest     uint32          // number that a segment has, or had
	segmentSize int
	syncEvery   time.Duration
	neverSync   bool
	needs       func() Needs
	restAfter   time.Duration
	damage      []DamageError

	growing sync.Mutex // held while space is made: one segment, one allocation at a time
	reserve reserve    // under growing

	scanned sync.Pool // *[]byte: memory of scans

	dropping sync.Mutex // held while a segment is removed, and while none may be; before mu

	syncing sync.Mutex // held while the committer syncs; before writing
	writing sync.Mutex // held while bytes go to files; before mu
	current *segment   // what was written to last, under writing

	mu       sync.Mutex
	segments []*segment // oldest first; frames are appended to the last
	window   window
	written  Position     // up to here it is in the files
	synced   Position     // and up to here on disk
	rested   Position     // the end of the log after the last rest
	promised int          // bytes that were admitted and may yet be appended
	reserved int64        // bytes of the reserve
	largest  int64        // size of the largest segment that was ended
	full     bool         // nothing new is admitted
	starved  bool         // a call that removes messages was refused, see Starved
	next     *commitGroup // calls that wait for the next sync
	inFlight *commitGroup // calls that wait for the sync in flight; nil if there is none
	err      error        // why nothing can be appended any more

	lastWaiting int           // who waited for the last sync, under mu
	lastSync    time.Duration // how long it took; the committer's own

	low     chan struct{} // gets a value when space becomes scarce
	wake    chan struct{} // gets a value when a call waits for the committer
	closing chan struct{}
	stopped chan struct{} // closed when the committer has returned
}

func newLog(c Config) *Log {
	l := &Log{
		disk: c.Disk, logger: c.Logger, sum: c.Checksum, segmentSize: c.SegmentSize,
		syncEvery: c.SyncEvery, neverSync: c.NeverSync, restAfter: c.RestAfter, needs: c.Needs,
		next: newCommitGroup(), low: make(chan struct{}, 1), wake: make(chan struct{}, 1), closing: make(chan struct{}), stopped: make(chan struct{}),
	}
	if l.logger == nil {
		l.logger = slog.Default()
	}
	if l.sum == nil {
		l.sum = checksum
	}
	l.reserve.disk = c.Disk
	return l
}

// Append puts a frame behind the last one and returns where its body begins and where
// it ends. It copies body, does not wait for I/O and does not fail: Kept and Written report
// whether the frame was stored. Memory is bounded because callers wait for one of them.
func (l *Log) Append(body []byte) (Spot, Position) {
	sum := l.sum(0, body) // not under the mutex: it takes as long as copying
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.append(sum, body, false)
}

// append is Append for a body whose checksum is known, under mu.
func (l *Log) append(sum uint32, body []byte, own bool) (Spot, Position) {
	s := l.active()
	f := frame{at: s.size, own: own, synced: max(0, min(int(l.synced-s.base), s.size))}
	head := s.seal(&f, sum, len(body))
	l.window.add(s, head[:], body)
	spot := Spot{s.number, uint32(s.size + frameHead)}
	s.size += frameHead + len(body)
	if l.window.unwritten(l.written) > unwrittenMost {
		l.wakeCommitter()
	}
	return spot, s.end()
}

// FrameSize returns the size in bytes of a frame whose body has body bytes.
func FrameSize(body int) int { return frameHead + body }

// appendOwn appends a frame of the log's own, under mu.
func (l *Log) appendOwn(kind byte, number uint32) Position {
	body := ownFrame(kind, number)
	_, end := l.append(l.sum(0, body), body, true)
	return end
}

// active returns the segment that frames are appended to, under mu.
func (l *Log) active() *segment { return l.segments[len(l.segments)-1] }

// End returns the position behind everything appended.
func (l *Log) End() Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.active().end()
}

// Dropped returns the bytes of all segments that were dropped since the log was opened.
func (l *Log) Dropped() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(l.segments[0].base)
}

// Size returns the bytes of all segments.
func (l *Log) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(l.active().end() - l.segments[0].base)
}

// fail notes the first error that stops the log, and returns it.
func (l *Log) fail(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = fmt.Errorf("%w: %w", ErrStopped, err)
		l.logger.Error("the log has stopped: nothing is stored any more until the store is opened again", slog.Any("error", err))
	}
	return l.err
}

// failure returns why nothing can be appended any more, nil when it can.
func (l *Log) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close makes everything appended durable, whatever the settings, and closes the
// files. What is appended later is lost: Kept and Written then return ErrClosed. It
// may be called once.
func (l *Log) Close() error {
	close(l.closing)
	<-l.stopped
	l.growing.Lock() // no segment is begun behind the last frame
	defer l.growing.Unlock()
	var err error
	if l.failure() == nil { // otherwise the waiting calls have got the error
		if err = passing(l.spaceToRest()); err == nil { // without space for a rest the log is as durable
			err = l.rest()
		}
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = ErrClosed
		// Give back what was allocated ahead, but never the header.
		size := max(int64(l.written-l.active().base), segmentHead)
		err = errors.Join(err, l.active().file.Truncate(size))
	}
	l.next.finish(l.err)
	l.next = newCommitGroup()
	err = errors.Join(err, l.reserve.close())
	for _, s := range l.segments {
		err = errors.Join(err, s.file.Close())
	}
	return err
}
