package storetest

import (
	"slices"
	"unicode/utf8"

	"github.com/dueq-dev/dueq/store"
)

// This file returns what the model shows.

// settings returns the settings of the queue.
func (m *model) settings() store.Settings {
	return store.Settings{
		Partitions: 1, MaxBody: store.DefaultMaxBody, MaxMessages: m.most, Paused: m.paused,
		DeadRetention: m.retention, MaxDead: m.mostDead, History: m.history, MaxHistory: m.mostDone,
	}
}

// stateOf returns the state of an entry: Ready if it is scheduled and due.
func (m *model) stateOf(e *entry) store.State {
	if e.state == store.Scheduled && e.at <= m.floor() {
		return store.Ready
	}
	return e.state
}

// records returns what List must return.
func (m *model) records(state store.State) []store.Record {
	kept := state
	if state == store.Ready {
		kept = store.Scheduled
	}
	var all []store.Record
	for _, e := range m.inOrder(kept) {
		if m.stateOf(e) == state {
			all = append(all, m.record(e))
		}
	}
	return all
}

func (m *model) record(e *entry) store.Record {
	r := store.Record{
		ID: e.ID, Key: e.Key, Headers: e.Headers, Body: e.Body, BodySize: len(e.Body), State: m.stateOf(e), At: e.at,
		MaxAttempts: e.MaxAttempts, Expiry: e.expiry, Attempt: e.deliveries, Earlier: e.earlier, Failures: e.failures, Snoozes: e.snoozes, RecentFailures: e.recentFailures(), Cancelling: e.stopping, Ending: e.how, Repeat: e.Repeat,
		Letter: e.letter,
	}
	if len(e.texts) > 0 {
		r.LastFailure = e.texts[0].Text
	}
	if e.state != store.Done {
		r.Suspicion, r.DedupID, r.Remember = e.suspicion, e.DedupID, e.Remember
	}
	if e.state == store.Leased {
		r.Attempt++
		r.Holder = e.by
	}
	return r
}

// recentFailures returns the texts that are kept.
func (e *entry) recentFailures() []store.Failure {
	kept := slices.Clone(e.texts[:min(len(e.texts), store.MaxRecentFailures)])
	for i := range kept {
		if i > 0 {
			kept[i].Text = beginning(kept[i].Text, store.MaxOlderFailure)
		}
	}
	return kept
}

// beginning returns as many whole characters of a text as have at most n bytes.
func beginning(text string, n int) string {
	end := 0
	for end < len(text) {
		_, size := utf8.DecodeRuneInString(text[end:])
		if end+size > n {
			break
		}
		end += size
	}
	return text[:end]
}
