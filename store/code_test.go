package store

import (
	"errors"
	"testing"
)

// The errors of each code: for a push or a management call, for a settle, and for an extension.
// nil means that the call has succeeded.
func TestCodes_ErrorOfEachInEachCall(t *testing.T) {
	t.Parallel()
	for code, want := range []struct {
		call, settled, extended error
		field                   string
		refuses                 bool
	}{
		CodeOK:        {},
		CodeDuplicate: {ErrDuplicate, ErrDuplicate, ErrDuplicate, "key", true},
		CodeConflict:  {ErrDuplicate, ErrDuplicate, ErrDuplicate, "id", true},
		CodeFull:      {ErrQueueFull, ErrQueueFull, ErrQueueFull, "", true},
		CodeTooFar:    {ErrInvalid, ErrInvalid, ErrInvalid, "due", true},
		CodeStale:     {ErrUnavailable, ErrUnavailable, ErrUnavailable, "", false},
		CodeNotFound:  {ErrNotFound, ErrNotFound, ErrNotFound, "", false},
		CodeRunning:   {ErrRunning, ErrRunning, ErrRunning, "", false},
		CodeDead:      {ErrDead, ErrCorrupt, ErrDead, "", false},
		CodeGone:      {ErrNotFound, nil, ErrLeaseLost, "", false},
		CodeLeaseLost: {ErrLeaseLost, ErrLeaseLost, ErrLeaseLost, "", false},
		CodeCancelled: {ErrCancelled, ErrCancelled, ErrCancelled, "", false},
		CodeExpires:   {ErrInvalid, ErrInvalid, ErrInvalid, "ttl", true},
		CodeChanged:   {ErrUnavailable, ErrUnavailable, ErrUnavailable, "repeat", false},
		CodeKnown:     {ErrDuplicate, ErrDuplicate, ErrDuplicate, "dedup id", false},
		CodeMoved:     {ErrRepartitioned, ErrRepartitioned, ErrRepartitioned, "", true},
		CodeMoved + 1: {ErrCorrupt, ErrCorrupt, ErrCorrupt, "", false}, // unknown to this version
	} {
		c := Code(code)
		wantCodeError(t, c.String(), c.Err(), want.call, want.field)
		wantCodeError(t, c.String()+" of extend", c.ExtendErr(), want.extended, want.field)
		for _, v := range []Verdict{Ack, Nack, Release, Snooze, Again, Next, Reject} {
			settled := want.settled
			if v == Nack && c == CodeDead {
				settled = nil // it was the last attempt
			}
			wantCodeError(t, c.String()+" of "+string(v), v.Err(c), settled, want.field)
		}
		if c.Refuses() != want.refuses {
			t.Errorf("%s: Refuses says %v", c, c.Refuses())
		}
	}
}

func wantCodeError(t *testing.T, what string, err, want error, field string) {
	t.Helper()
	if !errors.Is(err, want) || (err == nil) != (want == nil) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
	if e, ok := errors.AsType[*Error](err); err != nil && (ok != (field != "") || ok && e.Field != field) {
		t.Errorf("%s: %+v, want the field %q", what, err, field)
	}
}
