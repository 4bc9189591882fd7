package redisstore

import (
	"strconv"

	"github.com/dueq-dev/dueq/store"
)

// partitionKeyNames are all that a partition has, in the order in which every script
// numbers them. All share one hash tag, so they are in one Cluster slot.
//
//	side    hash: settings, counters, keys, histories, cancel requests
//	msg     hash: id -> record
//	leased  zset: receipt -> end of the lease
//	due     zset: id -> due time
//	dead    zset: id -> time of death
//	calls   hash: the last call of each producer, consumer and other caller
//	done    zset: id -> when it ended, of the messages that are kept as done
//	past    hash: id -> how it ended, and its record
func partitionKeyNames() [allKeys]string {
	return [allKeys]string{"side", "msg", "leased", "due", "dead", "calls", "done", "past"}
}

// allKeys is how many keys a partition has.
const allKeys = 8

// partitionKeys returns the first n keys of a partition.
func (s *Store) partitionKeys(p store.Partition, n int) []string {
	tag := s.config.Prefix + ":{" + p.Queue + ":" + strconv.Itoa(p.Index) + "}:"
	keys := make([]string, n)
	for i, name := range partitionKeyNames() {
		if i < n {
			keys[i] = tag + name
		}
	}
	return keys
}

// metaKey is a hash: the settings of a queue.
func (s *Store) metaKey(queue string) string { return s.config.Prefix + ":{" + queue + "}:meta" }

// clientsKeys are the keys with the clients and their consumers, in the order in which the scripts
// number them. All are in one slot. No queue has their hash tag, because its name begins with a
// letter or a digit.
//
//	beats     zset: client -> the instant until which it counts as alive
//	members   zset: "queue consumer client" of the consumers that have joined, all with the same score
//	byclient  zset: "client queue consumer" of all consumers, likewise
//	changes   zset: queue -> version at which its consumers have last changed
//	duties    hash: queue -> who is on duty
//	trials    zset: "queue consumer client" of the consumers on trial
type clientsKeys struct{ beats, members, byClient, changes, duties, trials string }

func (s *Store) clientsKeys() clientsKeys {
	tag := s.config.Prefix + ":{.clients}:"
	return clientsKeys{tag + "beats", tag + "members", tag + "byclient", tag + "changes", tag + "duties", tag + "trials"}
}

// queuesKey is a set: the names of all queues.
func (s *Store) queuesKey() string { return s.config.Prefix + ":queues" }

// eventsChannel carries "wake p", "stop p id", "help p n", "left p" and "reset p". A queue has one
// channel. On a Cluster each partition has one, in its slot, and the scripts publish with SPUBLISH,
// whose messages do not leave the master and its replicas: PUBLISH sends them to all nodes.
func (s *Store) eventsChannel(p store.Partition) string {
	if s.sharded {
		return s.config.Prefix + ":{" + p.Queue + ":" + strconv.Itoa(p.Index) + "}:events"
	}
	return s.config.Prefix + ":{" + p.Queue + "}:events"
}

func wakeEvent(p store.Partition) string { return "wake " + strconv.Itoa(p.Index) }
