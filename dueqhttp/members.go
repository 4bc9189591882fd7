package dueqhttp

import (
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/dueq-dev/dueq"
)

// member is a consumer of a queue.
type member struct {
	Name   string `json:"name"`
	Client string `json:"client"`
	OnDuty []int  `json:"on_duty"`
	Trial  bool   `json:"trial"`
}

// members is the answer about the consumers of a queue.
type members struct {
	Members []member `json:"members"`
}

// serveMembers returns the consumers of a queue.
func serveMembers(c *call) error {
	q, err := c.queue()
	if err == nil {
		err = c.onlyQuery()
	}
	if err != nil {
		return err
	}
	all, err := q.Members(c.r.Context())
	if err != nil {
		return err
	}
	answer := members{make([]member, len(all))}
	for i := range all {
		answer.Members[i] = newMember(&all[i])
	}
	return c.answer(http.StatusOK, answer)
}

func newMember(m *dueq.Member) member {
	return member{Name: m.Name, Client: m.Client, OnDuty: append([]int{}, m.OnDuty...), Trial: m.Trial}
}

// queueMember is a consumer, with the queue that it consumes.
type queueMember struct {
	Queue string `json:"queue"`
	member
}

// allMembers is a page of the consumers of all queues.
type allMembers struct {
	Members []queueMember `json:"members"`
	Next    string        `json:"next,omitempty"` // after, for the next page
}

// Queues of a page of consumers, and how many of them are looked at together.
const (
	defaultMemberQueues = 100
	maxMemberQueues     = 500
	memberCalls         = 8
)

// serveAllMembers returns the consumers of the queues that the caller may see and whose names
// follow a name, of as many queues as the caller asks for.
func serveAllMembers(c *call) error {
	if err := c.onlyQuery("after", "limit"); err != nil {
		return err
	}
	query, limit := c.r.URL.Query(), defaultMemberQueues
	if query.Has("limit") {
		var err error
		if limit, err = number("limit", query.Get("limit")); err != nil {
			return err
		}
		if limit < 1 || limit > maxMemberQueues {
			return outside("limit", limit, "1 to %d", maxMemberQueues)
		}
	}
	names, err := c.client.Store().Queues(c.r.Context())
	if err != nil {
		return err
	}
	after := query.Get("after")
	names = slices.DeleteFunc(names, func(name string) bool { return name <= after || c.allow(Read, name) != nil })
	answer := allMembers{Members: []queueMember{}}
	if len(names) > limit {
		names, answer.Next = names[:limit], names[limit-1]
	}
	found, err := c.membersOf(names)
	if err != nil {
		return err
	}
	for i, name := range names {
		for j := range found[i] {
			answer.Members = append(answer.Members, queueMember{name, newMember(&found[i][j])})
		}
	}
	return c.answer(http.StatusOK, answer)
}

// membersOf returns the consumers of each queue.
func (c *call) membersOf(queues []string) ([][]dueq.Member, error) {
	found, errs := make([][]dueq.Member, len(queues)), make([]error, len(queues))
	free := make(chan struct{}, memberCalls)
	var calls sync.WaitGroup
	for i, name := range queues {
		free <- struct{}{}
		calls.Go(func() {
			found[i], errs[i] = c.client.Queue(name).Members(c.r.Context())
			<-free
		})
	}
	calls.Wait()
	return found, errors.Join(errs...)
}
