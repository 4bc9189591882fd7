package system

import (
	"time"

	"github.com/dueq-dev/dueq/bench/peer"
)

// BullMQ has a driver in Node.js with the same protocol as the driver in Go.
func BullMQ(script string) peer.Entry {
	return peer.Entry{
		Info: peer.Info{
			Name: "bullmq", Title: "BullMQ 6 (Node.js)",
			Idea:     "Delayed jobs in a sorted set; a worker promotes due ones and takes one at a time under a lock of 30 s that is renewed.",
			Promise:  "at least once, lock",
			Mind:     "A job that stalls twice fails for good by default.",
			Settings: "default but concurrency 100, removeOnComplete (as the others delete at the ack)",
			Server:   peer.Redis, Batch: true, Recovery: 90 * time.Second,
			Library: "bullmq",
		},
		Command: func(env peer.Env) []string { return []string{"node", script, env.RedisSocket} },
	}
}
