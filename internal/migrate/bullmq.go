package migrate

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// bullmq reads the keys of BullMQ from version 4 on: PREFIX:QUEUE:STATE has ids, and PREFIX:QUEUE:ID
// is a hash with the job.
type bullmq struct {
	rdb    redis.UniversalClient
	prefix string
}

func newBullMQ(rdb redis.UniversalClient, prefix, name string) *bullmq {
	if prefix == "" {
		prefix = "bull"
	}
	return &bullmq{rdb: rdb, prefix: prefix + ":" + name + ":"}
}

func (b *bullmq) sets() []set {
	return []set{
		{state: "delayed", key: b.prefix + "delayed", shape: sorted, due: delayedUntil},
		{state: "prioritized", key: b.prefix + "prioritized", shape: sorted},
		{state: "paused", key: b.prefix + "paused", shape: list}, // instead of wait in a queue that is paused, before version 6
		{state: "wait", key: b.prefix + "wait", shape: list},
		{state: "active", key: b.prefix + "active", shape: list, active: true, skip: held},
		{state: "waiting-children", key: b.prefix + "waiting-children", shape: sorted, skip: flow},
		{state: "failed", key: b.prefix + "failed", shape: sorted, skip: "failed for good"},
		{state: "completed", key: b.prefix + "completed", shape: sorted, skip: "done"},
	}
}

// delayedUntil reads a score of delayed jobs: a Unix time in ms, times 4096, plus a counter.
func delayedUntil(score float64) time.Time { return time.UnixMilli(int64(score) >> 12) }

func (b *bullmq) keys() []string { return append(keysOf(b.sets()), b.prefix+"meta") }

// The fields of a job that are read.
const (
	jobName = iota
	jobData
	jobOptions
	jobPriority
	jobMade    // attempts, since version 5
	jobMadeOld // the same, before
	jobScheduler
	jobParent
	jobDedup
	jobTime // when it was made
	jobFields
)

func (b *bullmq) read(ctx context.Context, _ set, items []item) ([]entry, error) {
	replies := make([]*redis.SliceCmd, len(items))
	err := pipelined(ctx, b.rdb, func(p redis.Pipeliner) {
		for i, item := range items {
			replies[i] = p.HMGet(ctx, b.prefix+item.id, "name", "data", "opts", "priority", "atm", "attemptsMade", "rjk", "parentKey", "deid", "timestamp")
		}
	})
	if err != nil {
		return nil, err
	}
	entries := make([]entry, len(items))
	for i, reply := range replies {
		var fields [jobFields]string
		for n, value := range reply.Val() {
			fields[n], _ = value.(string) // "" for a field that is missing
		}
		entries[i] = bullEntry(items[i].id, fields)
	}
	return entries, nil
}

// flow is the reason for jobs that wait for others, or that others wait for.
const flow = "part of a flow"

// bullEntry returns the message of a job.
func bullEntry(id string, fields [jobFields]string) entry {
	if strings.HasPrefix(id, "0:") {
		return entry{skip: "a marker, no job"} // of version 4 and 5
	}
	if fields[jobOptions] == "" {
		return entry{skip: gone}
	}
	var options struct {
		Attempts float64         `json:"attempts"`
		Backoff  json.RawMessage `json:"backoff"`
		Repeat   json.RawMessage `json:"repeat"`
	}
	if err := json.Unmarshal([]byte(fields[jobOptions]), &options); err != nil {
		return entry{skip: "its encoding is unknown"}
	}
	switch {
	case fields[jobScheduler] != "" || len(options.Repeat) > 0:
		return entry{skip: "of a job scheduler: dueq has Repeat instead"}
	case fields[jobParent] != "":
		return entry{skip: flow}
	}
	made, err := strconv.Atoi(fields[jobMade] + fields[jobMadeOld]) // a job has one of them, or none
	if err != nil {
		made = 0
	}
	e := entry{
		kind: fields[jobName], body: []byte(fields[jobData]), made: fields[jobTime],
		attempts: int(min(options.Attempts, maxJobAttempts)) - made,
	}
	for _, l := range []struct {
		has  bool
		what string
	}{
		{fields[jobPriority] != "" && fields[jobPriority] != "0", "priority"},
		{len(options.Backoff) > 0, "backoff"},
		{fields[jobDedup] != "", "deduplication"},
	} {
		if l.has {
			e.lost = append(e.lost, l.what)
		}
	}
	return e
}

// maxJobAttempts bounds a number that can be anything.
const maxJobAttempts = 1 << 31
