package dueq

import (
	"context"

	"github.com/dueq-dev/dueq/store"
)

// Member is a consumer of a queue.
type Member struct {
	Name   string // as in Record.Holder
	Client string // the client that runs it: Options.Name, with a suffix that makes it unique
	// OnDuty are the partitions for which it claims messages when they become due. Other consumers
	// claim when it is busy, or does not answer.
	OnDuty []int
	// Trial reports that it gets no duties. Either it was started less than 15 s ago, and claims
	// messages that nobody else does; or it is pinned to partitions (ConsumeOptions.Partitions), and
	// claims from these.
	Trial bool
}

// Members returns the live consumers of the queue in the order of their names; none for an unknown
// queue. A consumer whose process has died is among them for up to 15 s. Costs one round trip.
func (q *Queue) Members(ctx context.Context) ([]Member, error) {
	if err := q.guard(ctx); err != nil {
		return nil, fail("members", q.name, "", err)
	}
	all, err := q.client.store.Members(ctx, q.name)
	if err != nil {
		return nil, fail("members", q.name, "", err)
	}
	return toMembers(all), nil
}

func toMembers(all []store.LiveMember) []Member {
	members := make([]Member, len(all))
	for i, m := range all {
		members[i] = Member{Name: m.Consumer, Client: m.Client, OnDuty: m.Duties, Trial: m.Trial}
	}
	return members
}
