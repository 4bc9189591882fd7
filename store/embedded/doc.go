// Package embedded keeps queues inside the process. It is the reference for what
// every [store.Store] does: the state machine in plain Go.
//
// # How it is built
//
// A [Store] has queues, a queue has partitions, and each partition has a mutex of its
// own: every method of the port that concerns a partition is one step under it.
//
//	store.go      the store: looking up partitions, one step at a time, closing
//	port.go       the methods of the port, each one step on a partition
//	settings.go   a queue and its settings
//	deletequeue.go
//	              taking a queue out
//	partition.go  what a partition holds, and reading it
//	change.go     the only code that changes a partition, and writes it down
//	push.go claim.go trim.go done.go settle.go next.go cancel.go reschedule.go redrive.go purge.go
//	              one operation each: what the rules of the state machine decide
//	list.go stats.go check.go describe.go
//	              reading: pages, sizes, the audit
//	entry.go payload.go index.go order.go waiting.go calls.go cursor.go clock.go
//	              the parts: one message, its content, the indexes by id and by time,
//	              the count of ready messages, remembered calls, positions, instants
//	watch.go members.go
//	              watchers and live consumers of a queue: never part of its state
//
// A store on disk has the same queues, and a log. Of a message's payload only the key
// stays in memory:
//
//	open.go       opening and closing
//	durable.go    what a call waits for, and in which order things happen
//	flight.go     how many bytes may be on their way to the disk
//	journal.go    one step becomes one frame of the log
//	ahead.go      reading files without the partition's mutex
//	encoding.go   the frames byte by byte; docs/FILE_FORMAT.md describes them in full
//	replay.go     a frame becomes changes again
//	sort.go       the orders of messages are made when all has been read
//	merge.go summary.go
//	              dropping old segments; what must be written down again before
//	pace.go       how fast old segments are merged
//	backup.go     copying a store in use
//	repair.go     opening what is damaged
//	internal/wal  the log itself: segments, group commit, recovery, space
//	internal/disk the file system, and its lock; internal/faultdisk one for tests
//
// Lock order: the store's mutex, then those of partitions by their numbers, then the
// log's. Only a deletion holds the store's and a partition's together, or those of several
// partitions. None of them is held during an fsync. Watchers are notified after the step,
// with none.
//
// The engine starts no goroutine and no timer: what has to happen with time (leases
// that run out, messages that expire, callers to forget) happens in bounded steps
// inside the calls that come anyway. A store on disk has two goroutines, until it is
// closed: one that syncs the log for all who wait, and one that keeps it small.
package embedded
