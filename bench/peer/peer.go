// Package peer is the interface of a delayed queue for the harness. Every queue can implement it, and it
// favours none.
package peer

import (
	"context"
	"time"
)

// Queue is one delayed queue under test. Its methods are called from many goroutines.
type Queue interface {
	// Send stores one message and returns when the queue has it.
	Send(ctx context.Context, m Message) error
	// Consume calls h with due messages until ctx ends, then stops gracefully. It calls c.Listening
	// once it notices messages that become due.
	Consume(ctx context.Context, c Consumer, h Handler) error
	// Size counts what is pending or held.
	Size(ctx context.Context) (int, error)
	// Close ends what Open began. Messages stay.
	Close() error
}

// Batcher is implemented by queues that send many messages in one call.
type Batcher interface {
	SendBatch(ctx context.Context, batch []Message) error
}

// Message is a message to send. Due is in whole milliseconds, the unit of most queues.
type Message struct {
	Seq  int
	Due  time.Time
	Body []byte
}

// Delay returns the time from now until the message is due, for queues that are given
// a delay: in milliseconds, rounded up so that rounding makes no message early.
func (m Message) Delay() time.Duration {
	d := time.Until(m.Due)
	if d <= 0 {
		return 0
	}
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// Consumer says how to consume.
type Consumer struct {
	Concurrency int
	// Index of Of consumers, for designs that share partitions out by configuration.
	Index, Of int
	Listening func()
}

// Handler handles one body. No workload has handlers that fail, because some designs have no retries.
type Handler func(ctx context.Context, body []byte) error

// Env says where a queue's server is.
type Env struct {
	RedisSocket string
	RabbitURL   string
}

// Server is the kind of server a queue keeps its messages in.
type Server string

// Servers the harness starts.
const (
	Redis  Server = "redis"
	Rabbit Server = "rabbitmq"
	None   Server = "none"
)

// Info describes a queue in the report, and says what workloads it cannot do.
type Info struct {
	Name  string `json:"name"`  // as in -systems
	Title string `json:"title"` // as in the report
	Idea  string `json:"idea"`  // how it works, one sentence
	// Promise has the guarantees for a message, in few words; Mind has what a user must know.
	Promise  string `json:"promise"`
	Mind     string `json:"mind"`
	Settings string `json:"settings"`

	Server Server `json:"server"`
	Batch  bool   `json:"batch"` // sends many in one call
	// Listener: messages that become due without a listener are lost, so there is no backlog to
	// drain; the drain is measured with a consumer that was started before.
	Listener bool `json:"listener"`
	// InProcess: there is no server; sender and consumer are one process.
	InProcess bool `json:"in_process"`
	// Recovery is the longest wait for the messages of a killed consumer.
	Recovery time.Duration `json:"recovery"`

	// Code are the files of this module that implement the queue, Library the Go or npm package
	// that does. Both are for counting lines.
	Code    []string `json:"code,omitempty"`
	Library string   `json:"library,omitempty"`
}

// Entry is a queue of the harness: either Open makes it, or Command runs a driver in another language.
type Entry struct {
	Info
	Open    func(ctx context.Context, env Env) (Queue, error)
	Command func(env Env) []string
}
