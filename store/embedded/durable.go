package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/wal"
)

// A call that changes something on a store with a log goes like this:
//
//  1. The call waits while too many bytes of others are on their way to the disk. Space
//     for what it may write is made sure of, before anything is changed.
//  2. Under the partition's mutex, the step changes the partition in memory, and its
//     frame is appended to the log, in memory too. So the order of the frames of a
//     partition is that of its steps.
//  3. Without the mutex, the call waits until its frame, and with it all before it,
//     is as durable as was promised. One fsync serves all who wait.
//
// Between 2 and 3 others see what is not durable yet: a message may be claimed before
// its push has returned. What they write stands behind it in the log, so no crash
// can keep theirs and lose it. And no call that changes something returns before
// everything the partition has written is durable, even if it changed nothing
// itself: its answer may rest on that. Only reads and claims see the future.
//
// Bodies that the log has in memory are read under the partition's mutex. Those that are
// in files only are read without it, see ahead.go: a slow disk delays only the caller.
//
// When a write or an fsync fails, what is on disk is unknown, and trying again would
// prove nothing: the log has stopped, all changes fail from then on, reads still work.

// durability is what must be so before a call that changes something is answered.
type durability int

const (
	untilDurable durability = iota // as the store's settings define it
	untilWritten                   // survives the process; a power cut may undo it
)

// effort is what a call may take.
type effort struct {
	size int     // bytes of the log, at most
	use  wal.Use // what for
	wait durability
	adds int64 // messages, for as long as they are not counted
	idle bool  // there is nothing to wait for if the step found nothing to do
}

// Bytes that changes take in the log, at most: on a full disk there is no space besides
// what was asked for. The terms are those of encoding.go, with the longest varints.
const (
	frameSize    = 32 + 3 + store.MaxQueueName + int(counters)*(1+1+5) + callSize // head, name, all counters, the caller
	callSize     = 1 + 1 + store.MaxCallerName + 10 + 8 + 2 + 1
	moveSize     = 1 + 16 + 8
	renewSize    = moveSize + 10
	noteSize     = 1 + 16 + 4*5 + 2 + 1 + 8 + 2 // besides the failure text
	removeSize   = 1 + 16 + rememberSize
	endSize      = moveSize + 1
	finishSize   = endSize + 2*(1+16) + rememberSize                   // a message that becomes done, in place of another with its id, and pushes out one
	answerSize   = 1 + 16                                              // what became of one item, remembered
	sweepSize    = max(noteSize+len(leaseRanOut)+moveSize, finishSize) // a lease that ran out
	settledSize  = max(noteSize+renewSize, finishSize)                 // one delivery settled, besides its texts and what follows it
	movedSize    = max(noteSize+moveSize, finishSize) + answerSize     // one message moved or removed, and the answer
	handSize     = max(moveSize, removeSize) + 16 + 10 + 8             // one message handed out and remembered
	condemnSize  = noteSize + condemnedMost + moveSize
	rememberSize = 1 + 16 + 8 + 16
	messageSize  = 1 + 16 + 2 + 8 + 10 + 3 + 10 + 16 + 25 + 4 + 4 + 3 + removeSize + 17 // one message pushed besides its content, in place of another, and the answer
	deletedSize  = 32 + 2 + store.MaxQueueName                                          // a queue is deleted
	scarceText   = 40                                                                   // of a failure text when space is scarce: with its time and number less than half of what a message has of the reserve
	headerSize   = 4                                                                    // a header besides its name and value
)

func pushEffort(r *store.PushRequest) effort {
	return effort{size: frameSize + messagesSize(r.Messages), use: wal.Add, adds: int64(len(r.Messages))}
}

// messagesSize is how many bytes of the log messages take that are stored.
func messagesSize(messages []store.Message) int {
	size := 0
	for i := range messages {
		size += messageSize + messages[i].Size() + headerSize*len(messages[i].Headers)
		if messages[i].Repeat != "" { // which can change what another message is
			size += headerSize + noteSize
		}
	}
	return size
}

func claimEffort(r *store.ClaimRequest) effort {
	e := effort{size: frameSize + max(handSize, finishSize)*r.Max + sweepSize*maxSweep + removeSize*(uselessMost+trimMost+shedMost), use: wal.Drain, wait: untilWritten, idle: true}
	if r.AckOnClaim {
		e.wait = untilDurable // or a power cut would bring back what must come once
	}
	return e
}

// affordable returns settlements with failure texts that the disk has space for. A text stays
// until the message is gone, so on a full disk long ones would use up what lets messages go.
func (s *Store) affordable(items []store.Settlement) []store.Settlement {
	if s.log == nil || !s.log.Scarce() {
		return items
	}
	items = slices.Clone(items)
	for i := range items {
		items[i].Failure = shortText(items[i].Failure)
	}
	return items
}

func shortText(failure string) string {
	if len(failure) <= scarceText {
		return failure
	}
	return strings.ToValidUTF8(failure[:scarceText], "")
}

// settleEffort is that of a settle which makes dead letters of size bytes.
func settleEffort(r *store.SettleRequest, letters int) effort {
	e := effort{size: frameSize + settledSize*len(r.Items) + letters, use: wal.Drain}
	if letters > 0 {
		e.use = wal.Add
	}
	for i := range r.Items {
		e.size += len(r.Items[i].Failure)
		if next := r.Items[i].Following(); next.NewBody { // the key and the headers are written with it
			e.size += messageSize + store.MaxKey + store.MaxRepeat + store.MaxHeaderSize + headerSize*(store.MaxHeaders+1) + len(next.Body)
			e.use = wal.Add
		}
	}
	return e
}

func extendEffort(receipts int) effort {
	return effort{size: frameSize + (noteSize+renewSize)*receipts, use: wal.Drain, wait: untilWritten}
}

func moveEffort(items int) effort {
	return effort{size: frameSize + movedSize*items, use: wal.Drain}
}

// change runs one atomic step that may change a partition, and returns when its effect
// is durable. When it fails before the step, nothing was changed; after it, the
// outcome is unknown.
func (s *Store) change(ctx context.Context, part *partition, e effort, do func(now instant)) error {
	if s.log == nil {
		s.wakingStep(part, do)
		return nil
	}
	if err := s.flight.enter(ctx, e.size); err != nil {
		return err
	}
	defer s.flight.leave(e.size)
	s.live.coming.Add(e.adds) // before, or the reserve would be too small for them
	defer s.live.coming.Add(-e.adds)
	if err := s.log.Admit(e.size, e.use); err != nil {
		return admitError(err, e.use)
	}
	defer s.log.Release(e.size)
	var end wal.Position
	var matters bool
	s.wakingStep(part, func(now instant) {
		do(now)
		end, matters = part.journal.commit()
	})
	switch {
	case e.idle && !matters:
		return nil
	case e.wait == untilWritten:
		return logError(s.log.Written(end))
	}
	return logError(s.log.Kept(ctx, end))
}

// configureDurably is change for settings.
func (s *Store) configureDurably(ctx context.Context, name string, c store.Change) (store.Settings, error) {
	if s.log == nil || c.Reads() {
		return s.configure(name, c)
	}
	if err := s.log.Admit(settingsSize, wal.Drain); err != nil {
		return store.Settings{}, admitError(err, wal.Drain)
	}
	defer s.log.Release(settingsSize)
	settings, err := s.configure(name, c)
	if err != nil {
		return settings, err
	}
	return settings, logError(s.log.Kept(ctx, s.log.End()))
}

// wakingStep is step for operations that may give a partition an earlier first
// message: then it wakes those who wait for the one they know of.
func (s *Store) wakingStep(part *partition, do func(now instant)) {
	var sooner bool
	s.step(part, func(now instant) {
		known := part.waiting.firstAt()
		do(now)
		sooner = part.waiting.firstAt() < known
	})
	if sooner {
		s.watchers.notify(part.queue.name, store.Event{Kind: store.EventWake, Partition: part.index})
	}
}

// admitError is for a call that changed nothing.
func admitError(err error, use wal.Use) error {
	if errors.Is(err, wal.ErrFull) && use == wal.Add {
		return fmt.Errorf("%w: %w", store.ErrQueueFull, err)
	}
	return logError(err)
}

// logError makes an error of the log one of the port.
func logError(err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, wal.ErrClosed):
		return store.ErrClosed
	case errors.Is(err, wal.ErrStopped):
		return fmt.Errorf("%w: %w: %w", store.ErrUnavailable, store.ErrFailed, err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}
