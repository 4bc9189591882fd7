package dueq

import (
	"cmp"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// toSpan returns d in ms, rounded up, so that nothing becomes due a fraction early.
func toSpan(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d > time.Duration(ms)*time.Millisecond {
		ms++
	}
	return ms
}

// farthest is an instant that every store refuses as too far ahead (year 9999) and
// that no arithmetic on milliseconds can overflow.
const farthest = 253402300799999

// toInstant returns t in unix ms, rounded up; 0 for the zero time.
func toInstant(t time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	case t.Unix() >= farthest/1000:
		return farthest
	case t.Unix() < 0:
		return -1 // past is past, however far: UnixMilli can overflow
	}
	ms := t.UnixMilli()
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return max(ms, 1) // 0 would mean none
}

// fromInstant is the reverse of toInstant, in the local time zone as time.Now.
func fromInstant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

func toSettings(s store.Settings) Settings {
	return Settings{
		Partitions: s.Partitions, MaxBody: s.MaxBody, MaxMessages: s.MaxMessages, Paused: s.Paused,
		DeadRetention: fromSpan(s.DeadRetention), MaxDead: s.MaxDead,
		History: fromSpan(s.History), MaxHistory: s.MaxHistory,
		MaxAttempts: s.MaxAttempts, Lease: fromSpan(s.Lease),
		Backoff: BackoffSettings{Base: fromSpan(s.BackoffBase), Most: fromSpan(s.BackoffMost)}, DedupFor: fromSpan(s.DedupFor),
	}
}

// plain returns the settings as the store takes them, with the defaults of a queue.
func (s Settings) plain() store.Settings {
	return store.Settings{
		Partitions: cmp.Or(s.Partitions, store.DefaultPartitions), MaxBody: cmp.Or(s.MaxBody, store.DefaultMaxBody),
		MaxMessages: s.MaxMessages, DeadRetention: toSpan(s.DeadRetention), MaxDead: s.MaxDead,
		History: toSpan(s.History), MaxHistory: s.MaxHistory,
		MaxAttempts: s.MaxAttempts, Lease: toSpan(s.Lease),
		BackoffBase: toSpan(s.Backoff.Base), BackoffMost: toSpan(s.Backoff.Most), DedupFor: toSpan(s.DedupFor),
	}
}

func toStats(s *store.Stats) Stats {
	return Stats{
		Queue: s.Queue, Settings: toSettings(s.Settings),
		Scheduled: s.Scheduled, Ready: s.Ready, Leased: s.Leased, Dead: s.Dead, Done: s.Done,
		OldestReady: fromSpan(s.OldestReady), Consumers: s.Consumers, Remembered: s.Remembered, Counters: Counters(s.Counters),
	}
}

func fromSpan(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

func toProblems(found []store.Problem) []Problem {
	problems := make([]Problem, len(found))
	for i, p := range found {
		problems[i] = Problem(p)
	}
	return problems
}

func toRecord(queue string, r store.Record) Record {
	return Record{
		ID: r.ID.String(), Queue: queue, Key: r.Key, Headers: r.Headers, Body: r.Body, BodySize: r.BodySize,
		State: State(r.State), At: fromInstant(r.At), SentAt: fromInstant(r.ID.Time()), ExpiresAt: fromInstant(r.Expiry),
		Attempt: r.Attempt - r.Earlier, Token: int64(r.Attempt), Failures: r.Failures, Snoozes: r.Snoozes, MaxAttempts: r.MaxAttempts,
		LastFailure: r.LastFailure, Cancelling: r.Cancelling, Holder: r.Holder, Ending: Ending(r.Ending), Repeat: toRepeat(r.Repeat),
	}
}
