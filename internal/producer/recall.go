package producer

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/dueq-dev/dueq/store"
)

// keep is how many pushes of unknown outcome are remembered, so that an outage does
// not cost memory without bound.
const keep = 4 * Lanes

// push is one call, as it can be repeated.
type push struct {
	lane     *lane
	to       store.Partition
	messages []store.Message
}

// Outcome is what became of one message of a repeated push.
type Outcome struct {
	Result store.PushResult
	Err    error
}

// Definite reports whether an error tells for certain that nothing was stored.
func Definite(err error) bool {
	return slices.ContainsFunc([]error{store.ErrInvalid, store.ErrTooLarge, store.ErrQueueFull},
		func(e error) bool { return errors.Is(err, e) })
}

func (p *Producer) setAside(u *push) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unknown = append(p.unknown, u)
	if len(p.unknown) > keep {
		p.free = append(p.free, p.unknown[0].lane)
		p.unknown = slices.Delete(p.unknown, 0, 1)
	}
}

// Recall repeats earlier pushes of unknown outcome whose messages are all being sent
// again, with their old numbers: messages that were stored then, and may have been
// consumed since, are so not stored again. It returns what became of these messages;
// all others have to be pushed.
func (p *Producer) Recall(ctx context.Context, to store.Partition, messages []store.Message) map[store.ID]Outcome {
	outcomes := map[store.ID]Outcome{}
	for _, u := range p.takeUnknown(to, messages) {
		results, err := p.send(ctx, u)
		for i := range u.messages {
			o := Outcome{Err: err}
			if err == nil {
				o.Result = results[i]
			}
			outcomes[u.messages[i].ID] = o
		}
	}
	return outcomes
}

// takeUnknown removes the pushes that messages cover from those set aside.
func (p *Producer) takeUnknown(to store.Partition, messages []store.Message) []*push {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.unknown) == 0 {
		return nil
	}
	byID := make(map[store.ID]*store.Message, len(messages))
	for i := range messages {
		byID[messages[i].ID] = &messages[i]
	}
	var covered []*push
	p.unknown = slices.DeleteFunc(p.unknown, func(u *push) bool {
		if u.to != to || !u.coveredBy(byID) {
			return false
		}
		covered = append(covered, u)
		return true
	})
	return covered
}

func (u *push) coveredBy(byID map[store.ID]*store.Message) bool {
	for i := range u.messages {
		m := &u.messages[i]
		again := byID[m.ID]
		if again == nil || again.Key != m.Key || again.MaxAttempts != m.MaxAttempts ||
			!bytes.Equal(again.Body, m.Body) || !maps.Equal(again.Headers, m.Headers) {
			return false
		}
	}
	return true
}
