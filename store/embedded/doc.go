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
//	partition.go  what a partition holds, and reading it
//	change.go     the only code that changes a partition
//	push.go claim.go settle.go cancel.go reschedule.go redrive.go purge.go
//	              one operation each: what the rules of the state machine decide
//	list.go stats.go check.go
//	              reading: pages, sizes, the audit
//	entry.go payload.go order.go waiting.go calls.go cursor.go clock.go
//	              the parts: one message, its content, the ordered indexes, the
//	              count of ready messages, remembered calls, positions, instants
//	watch.go members.go
//	              watchers and live consumers of a queue: never part of its state
//
// Lock order: a partition's mutex and the store's are never held together. Watchers
// are told after the step, with neither.
//
// The engine starts no goroutine and no timer: what has to happen with time (leases
// that run out, messages that expire, callers to forget) happens in bounded steps
// inside the calls that come anyway.
package embedded
