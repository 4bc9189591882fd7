package dueqhttp

import "net/http"

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
	for i, m := range all {
		answer.Members[i] = member{Name: m.Name, Client: m.Client, OnDuty: append([]int{}, m.OnDuty...), Trial: m.Trial}
	}
	return c.answer(http.StatusOK, answer)
}
