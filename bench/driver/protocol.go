// Package driver runs a queue in a process of its own and communicates with it in lines of JSON. So
// the CPU time of each queue is measured separately, a consumer can be killed, and queues in other
// languages are measured in the same way.
package driver

import "github.com/dueq-dev/dueq/bench/peer"

// Ops a driver understands. Each is answered with one line, in order.
const (
	OpSend    = "send"    // send Load; the reply has the number that was sent
	OpConsume = "consume" // start consuming; the reply is sent when it listens
	OpStop    = "stop"    // stop consuming gracefully
	OpSize    = "size"    // messages pending or held
	OpCPU     = "cpu"     // CPU time of this process so far
	OpHeap    = "heap"    // bytes this process holds
	OpQuit    = "quit"
)

// Request is one line to a driver.
type Request struct {
	Op string `json:"op"`
	peer.Load
	Consume
}

// Consume has the options of an OpConsume.
type Consume struct {
	Concurrency int `json:"concurrency,omitempty"`
	Index       int `json:"index,omitempty"`
	Of          int `json:"of,omitempty"`
	WorkMs      int `json:"work_ms,omitempty"` // how long a handler works
	// Expect makes the driver report when that many have been handled.
	Expect int `json:"expect,omitempty"`
	// Stream reports each message once its handler is done, before it is acked. The
	// line is written at once, so that it is not lost when the driver is killed.
	Stream bool `json:"stream,omitempty"`
}

// Line is one line from a driver: a reply, or one of two kinds of event.
type Line struct {
	// Done is a handled message: its number and its lateness in microseconds.
	Done *[2]int64 `json:"d,omitempty"`
	// Reached is when Expect was reached, in microseconds since 1970.
	Reached int64  `json:"reached,omitempty"`
	Reply   *Reply `json:"reply,omitempty"`
}

// Reply answers a Request.
type Reply struct {
	Error  string `json:"error,omitempty"`
	Sent   int    `json:"sent,omitempty"`
	WallUs int64  `json:"wall_us,omitempty"`
	CPUUs  int64  `json:"cpu_us,omitempty"`
	Heap   int64  `json:"heap,omitempty"` // bytes, after a collection
	Size   int    `json:"size,omitempty"`
}
