package system

import (
	"sync"

	amqp "github.com/rabbitmq/amqp091-go"
)

// channels keeps channels in confirm mode: opening one costs several round trips.
type channels struct {
	conn *amqp.Connection
	mu   sync.Mutex
	free []*amqp.Channel
}

func (c *channels) get() (*amqp.Channel, error) {
	c.mu.Lock()
	if n := len(c.free); n > 0 {
		ch := c.free[n-1]
		c.free = c.free[:n-1]
		c.mu.Unlock()
		return ch, nil
	}
	c.mu.Unlock()
	ch, err := c.conn.Channel()
	if err != nil {
		return nil, err
	}
	return ch, ch.Confirm(false)
}

func (c *channels) put(ch *amqp.Channel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, ch)
}
