package consumer

import "fmt"

// RetryError chooses when a failed delivery comes back.
type RetryError struct {
	Delay int64 // ms
	Err   error
}

func (e *RetryError) Error() string { return text(e.Err, "retry") }

// Unwrap returns e.Err.
func (e *RetryError) Unwrap() error { return e.Err }

// RejectError makes the message a dead letter.
type RejectError struct{ Err error }

func (e *RejectError) Error() string { return text(e.Err, "rejected") }

// Unwrap returns e.Err.
func (e *RejectError) Unwrap() error { return e.Err }

// DropError acks the message in spite of an error.
type DropError struct{ Err error }

func (e *DropError) Error() string { return text(e.Err, "dropped") }

// Unwrap returns e.Err.
func (e *DropError) Unwrap() error { return e.Err }

// text is of err, or instead of it: a nil error is as good a reason as any.
func text(err error, instead string) string {
	if err == nil {
		return instead
	}
	return fmt.Sprint(err)
}
