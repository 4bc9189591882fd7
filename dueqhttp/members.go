package dueqhttp

import (
	"net/http"

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

// serveAllMembers returns the consumers of the queues that the caller may see and whose names
// follow a name, of as many queues as the caller asks for.
func serveAllMembers(c *call) error {
	if err := c.onlyQuery("after", "limit"); err != nil {
		return err
	}
	names, next, err := c.queuePage(func(name string) bool { return c.allow(Read, name) == nil })
	if err != nil {
		return err
	}
	answer := allMembers{Members: []queueMember{}, Next: next}
	found, err := ofEach(names, func(name string) ([]dueq.Member, error) { return c.client.Queue(name).Members(c.r.Context()) })
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
