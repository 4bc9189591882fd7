package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/disk"
	"github.com/dueq-dev/dueq/store/embedded/internal/wal"
)

// Damage is a part of a store that could not be read.
type Damage = wal.DamageError //nolint:errname // to the caller it is a finding

// ErrNewer means that a newer version of this module wrote to a store. Such a store is
// neither opened nor repaired. The error names the format version that was found, and the
// one that this version reads.
var ErrNewer = wal.ErrNewer

// Open returns the store that is kept in a directory, which is made if it is missing.
// What every call promises is on disk when the call returns, unless c says otherwise;
// see docs/GUARANTEES.md. One process has a directory open at a time.
//
// It reads the whole log, on all processors: about a second for a million messages. Besides
// the store itself that takes up to 100 MiB of memory, and 32 bytes for each message. The
// end of the log that a crash left half written is cut off. A directory for everybody to write to,
// symlinks, and systems without locks of whole files (Solaris, AIX, Plan 9) are refused.
//
// Errors: store.ErrInvalid for c; store.ErrUnavailable when the directory cannot be
// used, with the pid when another process uses it, and together with ErrNewer, whatever
// Config.Repair says, when a newer version wrote to it; store.ErrCorrupt, with file and
// offset, when something is damaged that had been on disk: Config.Repair opens it all
// the same; ctx's when it ends before all was read. The caller must Close the store.
func Open(ctx context.Context, dir string, c Config) (*Store, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.MustExist {
		if err := mustExist(dir); err != nil {
			return nil, err
		}
	}
	d, err := disk.OpenDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	s, err := openOn(ctx, d, c, tuning{restAfter: restAfter})
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	s.path = d.Name()
	finish := s.finish
	s.finish = func() error { return errors.Join(finish(), d.Close()) }
	return s, nil
}

// mustExist returns ErrNotFound for a directory in which no store has ever been.
func mustExist(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	for _, entry := range entries {
		if name := entry.Name(); name == disk.LockName || strings.HasSuffix(name, wal.Suffix) {
			return nil
		}
	}
	return fmt.Errorf("no store at %s: %w", dir, store.ErrNotFound)
}

// Inspect reads the store in a directory as Open does with Config.Repair, but changes
// nothing, and returns all damage: what a repair would skip. None means that Open can
// open the store. It takes the time and memory of Open.
//
// Errors: store.ErrUnavailable when there is no such directory, or it cannot be used, and
// together with ErrNewer when a newer version wrote to it.
func Inspect(ctx context.Context, dir string) ([]Damage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); err != nil { // opening would make it
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	d, err := disk.OpenDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	damage, err := inspectOn(ctx, d)
	return damage, errors.Join(err, d.Close())
}

func inspectOn(ctx context.Context, d disk.Disk) ([]Damage, error) {
	s := newStore(Config{})
	damage, err := wal.Inspect(wal.Config{Disk: d}, newReplayer(ctx, s).read)
	if err != nil {
		return nil, openError(err)
	}
	s.sortAll()
	for _, p := range s.allPartitions() {
		if problems := p.totals(); len(problems) > 0 {
			damage = append(damage, p.damage(problems))
		}
	}
	return damage, nil
}

func (c Config) validate() error {
	switch {
	case c.SyncEvery < 0:
		return &store.Error{Field: "sync every", Err: fmt.Errorf("%v is negative: %w", c.SyncEvery, store.ErrInvalid)}
	case c.SyncEvery > 0 && c.NeverSync:
		return &store.Error{Field: "never sync", Err: fmt.Errorf("contradicts a sync every %v: %w", c.SyncEvery, store.ErrInvalid)}
	}
	return nil
}

// tuning has the settings that only tests change.
type tuning struct {
	segmentSize int
	inFlight    int // bytes; 0: inFlightMost
	checksum    func(uint32, []byte) uint32
	restAfter   time.Duration
	byHand      bool // there is no caretaker goroutine: the test calls its methods
}

func openOn(ctx context.Context, d disk.Disk, c Config, t tuning) (*Store, error) {
	s := newStore(c)
	s.syncs = syncs{c.SyncEvery, c.NeverSync}
	s.flight.most = cmp.Or(t.inFlight, inFlightMost)
	logger := c.Logger
	if logger == nil {
		logger = slog.Default()
	}
	log, err := wal.Open(wal.Config{
		Disk: d, SyncEvery: c.SyncEvery, NeverSync: c.NeverSync, Salvage: c.Repair, Logger: logger,
		SegmentSize: t.segmentSize, Checksum: t.checksum, RestAfter: t.restAfter, Needs: s.needs,
	}, newReplayer(ctx, s).read)
	if err != nil {
		return nil, openError(err)
	}
	s.sortAll()
	s.care = &caretaker{store: s, log: log, logger: logger, pause: pauseFor}
	if err := s.checkRead(log, c.Repair, s.clock()); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	s.adopt(log)
	if err := s.care.begin(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", store.ErrUnavailable, err), log.Close())
	}
	s.finish = log.Close
	if !t.byHand {
		s.finish = alongside(s.care.run, log.Close) //nolint:contextcheck // it outlives the call
	}
	return s, nil
}

// restAfter is how long after the last sync the log leaves proof of what is on disk.
const restAfter = time.Second

// alongside starts run in a goroutine, and returns a function that ends it and then calls
// finish.
func alongside(run func(context.Context), finish func() error) func() error {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	return func() error {
		cancel()
		<-done
		return finish()
	}
}

func openError(err error) error {
	if errors.Is(err, wal.ErrGivenUp) {
		return err
	}
	if _, ok := errors.AsType[*wal.DamageError](err); ok {
		return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// adopt gives the partitions that were read a log to write to.
func (s *Store) adopt(log *wal.Log) {
	s.log = log
	for _, p := range s.allPartitions() {
		p.journal = newJournal(s, store.Partition{Queue: p.queue.name, Index: p.index})
	}
}

func problemTexts(problems []store.Problem) string {
	texts := make([]string, 0, len(problems))
	for _, p := range problems {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "; ")
}

// Damage returns what Open had to skip with Config.Repair: the places in the log, and
// the partitions whose counters did not agree with what is left. Messages whose last
// change was lost are back in the state they had before.
func (s *Store) Damage() []Damage { return s.damage }
