package dueq

import "context"

// MaxSendBatch is how many messages one [Queue.SendBatch] takes.
const maxSendBatch = 10_000

// SendBatch sends up to 10,000 messages in as few calls as it can: at most 500
// messages and 1 MiB each. It is not atomic: every message has its own result, in
// order, to be read as that of a [Queue.Send]; a message that is refused does not keep
// others from being stored. Messages are stored in order within a partition, so of two
// with the same key the second is [ErrDuplicate].
//
// The error is for the batch as a whole: [ErrInvalid] for none or too many messages,
// [ErrClosed], the error of a ctx that had ended before; nothing was stored then.
func (q *Queue) SendBatch(ctx context.Context, messages []Message) ([]SendResult, error) {
	if err := q.guard(ctx); err != nil {
		return nil, fail("send batch", q.name, "", err)
	}
	if n := len(messages); n < 1 || n > maxSendBatch {
		return nil, fail("send batch", q.name, "", invalid("messages", "%d is outside 1 to %d", n, maxSendBatch))
	}
	return nil, errTODO
}
