package migrate

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// delayqueue reads the keys of github.com/hdt3213/delayqueue: PREFIX:QUEUE:STATE has ids,
// PREFIX:QUEUE:retry:cnt how often each may still be retried, and PREFIX:QUEUE:msg:ID the body. With
// UseHashTagKey, {PREFIX:QUEUE} takes the place of PREFIX:QUEUE. UseCustomPrefix does not change the
// keys of bodies.
type delayqueue struct {
	rdb      redis.UniversalClient
	families []string // what the keys of the queue begin with, without and with a hash tag
	bodies   map[string][]string
}

const delayqueuePrefix = "dp"

func newDelayqueue(rdb redis.UniversalClient, prefix, name string) *delayqueue {
	if prefix == "" {
		prefix = delayqueuePrefix
	}
	own, usual := prefix+":"+name, delayqueuePrefix+":"+name
	d := &delayqueue{rdb: rdb, families: []string{own, "{" + own + "}"}, bodies: map[string][]string{}}
	d.bodies[own], d.bodies["{"+own+"}"] = []string{usual}, []string{"{" + usual + "}"}
	if own != usual { // in case a later version does change them
		for family := range d.bodies {
			d.bodies[family] = append(d.bodies[family], family)
		}
	}
	return d
}

func (d *delayqueue) sets() []set {
	all := make([]set, 0, 5*len(d.families))
	for _, family := range d.families {
		all = append(all,
			set{state: "pending", key: family + ":pending", shape: sorted, due: seconds, family: family},
			set{state: "ready", key: family + ":ready", shape: list, family: family},
			set{state: "unack", key: family + ":unack", shape: sorted, due: seconds, family: family, active: true, skip: held},
			set{state: "retry", key: family + ":retry", shape: list, family: family},
			set{state: "garbage", key: family + ":garbage", shape: plain, skip: "failed for good"},
		)
	}
	return all
}

func (d *delayqueue) keys() []string {
	all := keysOf(d.sets())
	for _, family := range d.families {
		all = append(all, family+":retry:cnt")
	}
	return all
}

func (d *delayqueue) read(ctx context.Context, s set, items []item) ([]entry, error) {
	bodies := make([][]*redis.StringCmd, len(items))
	retries := make([]*redis.StringCmd, len(items))
	err := pipelined(ctx, d.rdb, func(p redis.Pipeliner) {
		for i, item := range items {
			for _, family := range d.bodies[s.family] {
				bodies[i] = append(bodies[i], p.Get(ctx, family+":msg:"+item.id))
			}
			retries[i] = p.HGet(ctx, s.family+":retry:cnt", item.id)
		}
	})
	if err != nil {
		return nil, err
	}
	entries := make([]entry, len(items))
	for i := range items {
		if entries[i], err = delayqueueEntry(bodies[i], retries[i]); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// delayqueueEntry returns the message of replies.
func delayqueueEntry(bodies []*redis.StringCmd, retries *redis.StringCmd) (entry, error) {
	e := entry{skip: gone}
	for _, reply := range bodies {
		body, err := reply.Bytes()
		if errors.Is(err, redis.Nil) {
			continue
		}
		if err != nil {
			return e, err
		}
		e = entry{body: body}
		break
	}
	left, err := retries.Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return e, err
	}
	n, err := strconv.Atoi(left)
	if err != nil { // without a count it would not be retried
		n = 0
	}
	e.attempts = min(n, mostAttempts) + 1
	return e, nil
}
