package migrate

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq"
)

// source is how a library keeps a queue in Redis.
type source interface {
	// sets returns the sets of ids, in the direction in which messages move.
	sets() []set
	// keys returns keys of which one exists if the queue does.
	keys() []string
	// read returns the messages with some ids of a set, in their order.
	read(ctx context.Context, s set, items []item) ([]entry, error)
}

// entry is a message of a source.
type entry struct {
	kind     string // type of a task, name of a job
	headers  map[string]string
	body     []byte
	made     string   // distinguishes messages of two servers that have the same id; "" where ids are unique
	attempts int      // deliveries that may still fail
	skip     string   // why it is not copied, "" if it is
	lost     []string // what it has and dueq has no place for
}

// gone is the reason for an id without a message: it was handled or removed meanwhile, or its body
// has expired.
const gone = "it has no content any more"

type shape int

const (
	list   shape = iota
	sorted       // a sorted set
	plain        // a set
	groups       // a set of names of sorted sets
)

// set is a key that has the ids of messages in one state.
type set struct {
	state  string
	key    string
	shape  shape
	due    func(score float64) time.Time // nil: due now
	skip   string                        // why messages in this state are not copied, "" if they are
	active bool                          // consumers hold them
	family string                        // what the source wants to know in read, or the keys of groups begin with
}

// item is an element of a set.
type item struct {
	id    string
	score float64
}

// pageSize is how many ids are asked for at a time.
const pageSize = 1000

// each passes the elements of a list or a sorted set to use, in pages. One that is there all the
// time is passed; one that comes or goes meanwhile may be, and one may be passed twice.
func (s set) each(ctx context.Context, rdb redis.UniversalClient, use func([]item) error) error {
	if s.shape == list {
		return s.eachOfList(ctx, rdb, use)
	}
	for cursor := uint64(0); ; {
		reply, next, err := rdb.ZScan(ctx, s.key, cursor, "", pageSize).Result()
		if err != nil {
			return s.failed(err)
		}
		page, err := scanned(reply)
		if err != nil {
			return s.failed(err)
		}
		if err := use(page); err != nil {
			return err
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// eachOfList begins at the right end, where the libraries take from: what they add on the left then
// moves nothing.
func (s set) eachOfList(ctx context.Context, rdb redis.UniversalClient, use func([]item) error) error {
	for done := int64(0); ; done += pageSize {
		ids, err := rdb.LRange(ctx, s.key, -done-pageSize, -done-1).Result()
		if err != nil {
			return s.failed(err)
		}
		page := make([]item, len(ids))
		for i, id := range ids {
			page[len(ids)-1-i] = item{id: id}
		}
		if err := use(page); err != nil {
			return err
		}
		if len(ids) < pageSize {
			return nil
		}
	}
}

// scanned reads a reply of ZSCAN: ids and scores in turn.
func scanned(reply []string) ([]item, error) {
	page := make([]item, 0, len(reply)/2)
	for i := 0; i+1 < len(reply); i += 2 {
		score, err := strconv.ParseFloat(reply[i+1], 64)
		if err != nil {
			return nil, err
		}
		page = append(page, item{id: reply[i], score: score})
	}
	return page, nil
}

func (s set) failed(err error) error {
	return fmt.Errorf("read %s: %w: %w", s.key, err, dueq.ErrUnavailable)
}

// size returns how many messages the set has.
func (s set) size(ctx context.Context, rdb redis.UniversalClient) (int, error) {
	var n int64
	var err error
	switch s.shape {
	case list:
		n, err = rdb.LLen(ctx, s.key).Result()
	case sorted:
		n, err = rdb.ZCard(ctx, s.key).Result()
	case plain:
		n, err = rdb.SCard(ctx, s.key).Result()
	case groups:
		n, err = sizeOfGroups(ctx, rdb, s)
	}
	return int(n), err
}

func sizeOfGroups(ctx context.Context, rdb redis.UniversalClient, s set) (int64, error) {
	names, err := rdb.SMembers(ctx, s.key).Result()
	if err != nil {
		return 0, err
	}
	sum := int64(0)
	for _, name := range names {
		n, err := rdb.ZCard(ctx, s.family+name).Result()
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// keysOf returns the keys of sets.
func keysOf(sets []set) []string {
	all := make([]string, len(sets))
	for i, s := range sets {
		all[i] = s.key
	}
	return all
}

// seconds reads a score that is a Unix time in seconds.
func seconds(score float64) time.Time { return time.Unix(int64(score), 0) }
