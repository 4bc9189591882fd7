package dueqhttp

import (
	"slices"
	"sync"
)

// Queues of a page, and how many of them are looked at together.
const (
	defaultQueuePage = 100
	maxQueuePage     = 500
	queueCalls       = 8
)

// queuePage returns the names of selected queues that follow the one the caller names as after, as
// many as the caller asks for, and what to name for the next page.
func (c *call) queuePage(selected func(queue string) bool) (names []string, next string, err error) {
	query, limit := c.r.URL.Query(), defaultQueuePage
	if query.Has("limit") {
		if limit, err = number("limit", query.Get("limit")); err != nil {
			return nil, "", err
		}
		if limit < 1 || limit > maxQueuePage {
			return nil, "", outside("limit", limit, "1 to %d", maxQueuePage)
		}
	}
	if names, err = c.client.Store().Queues(c.r.Context()); err != nil {
		return nil, "", err
	}
	after := query.Get("after")
	names = slices.DeleteFunc(names, func(name string) bool { return name <= after || !selected(name) })
	if len(names) > limit {
		names, next = names[:limit], names[limit-1]
	}
	return names, next, nil
}

// ofEach calls do for each queue, and returns the results in their order.
func ofEach[T any](queues []string, do func(queue string) (T, error)) ([]T, error) {
	found, errs := make([]T, len(queues)), make([]error, len(queues))
	free := make(chan struct{}, queueCalls)
	var calls sync.WaitGroup
	var caught panics
	for i, name := range queues {
		free <- struct{}{}
		calls.Go(func() {
			defer func() { <-free }()
			defer caught.catch()
			found[i], errs[i] = do(name)
		})
	}
	calls.Wait()
	caught.raise()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return nil, errs[i] // the others say the same, as a rule
	}
	return found, nil
}
