package redisstore

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dueq-dev/dueq/internal/duty"
	"github.com/dueq-dev/dueq/store"
)

const (
	// clientsTTL is how long clients and consumers are kept when no client reports, in s: longer
	// than any ttl of a beat.
	clientsTTL = 2 * store.MaxLease / 1000
	// maxSilent is how many clients that have fallen silent are left out of the members of a queue.
	// Each beat removes one.
	maxSilent = 10_000
	// dutiesCall is how many partitions one call for duties may concern.
	dutiesCall = 4096
)

// Beat implements store.Store. It is one call, and one for each 500 consumers of a client that
// leaves.
func (s *Store) Beat(ctx context.Context, r store.BeatRequest) (store.BeatResult, error) {
	if err := r.Validate(); err != nil {
		return store.BeatResult{}, err
	}
	k := s.clientsKeys()
	c := call{
		op: "beat", script: s.scripts["beat"], keys: []string{k.beats, k.members, k.byClient, k.changes, k.duties, k.trials},
		args: []any{r.Client, r.TTL, clientsTTL, r.Known, store.MaxBatch, len(r.Leave), len(r.Trial), len(r.Join)},
	}
	for _, m := range slices.Concat(r.Leave, r.Trial, r.Join) {
		c.args = append(c.args, m.Queue, m.Consumer)
	}
	for {
		result, left, err := s.beat(ctx, c)
		if err != nil {
			return result, err
		}
		if !left {
			s.consumed.note(r)
			s.listAgain(ctx)
			return result, nil
		}
	}
}

// consumed are the consumers that the clients of this Store have.
type consumed struct {
	mu      sync.Mutex
	members map[store.Member]bool
	listed  time.Time // one of their queues was listed then
}

func (c *consumed) note(r store.BeatRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.members) == 0 {
		c.listed = time.Now() // consumers list their queue when they start
	}
	for _, m := range slices.Concat(r.Trial, r.Join) {
		c.members[store.Member{Queue: m.Queue, Consumer: m.Consumer}] = true
	}
	for _, m := range r.Leave {
		delete(c.members, store.Member{Queue: m.Queue, Consumer: m.Consumer})
	}
}

// toList returns one of the queues, a different one most of the time; "" if there are none or one was
// listed lately.
func (c *consumed) toList(now time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.listed) < listEvery {
		return ""
	}
	for m := range c.members {
		c.listed = now
		return m.Queue
	}
	return ""
}

const (
	listEvery   = 30 * time.Second
	listTimeout = time.Second
)

// listAgain enters one of the queues that are consumed into the set of queues, which may have been
// lost without anything else of the queue. One that was deleted is not entered: its consumers may
// not know that yet. The set serves only to list queues, so an error must not look like one of the
// beat, nor may a server that hangs delay the end of a consumer for long.
func (s *Store) listAgain(ctx context.Context) {
	queue := s.consumed.toList(time.Now())
	if queue == "" {
		return
	}
	ctx, end := context.WithTimeout(ctx, listTimeout)
	defer end()
	_, found, err := s.meta(ctx, "beat", queue)
	if err == nil && found {
		err = s.list(ctx, "beat", queue)
	}
	if err != nil {
		s.config.Logger.DebugContext(ctx, "dueq: could not list the queue; a later beat tries again",
			slog.String("queue", queue), slog.Any("error", err))
	}
}

// beat makes one call, and reports whether a client that leaves still has consumers.
func (s *Store) beat(ctx context.Context, c call) (result store.BeatResult, left bool, err error) {
	got, err := s.run(ctx, c)
	if err != nil {
		return result, false, err
	}
	fields, ok := got.([]any)
	if !ok || len(fields) < 4 {
		return result, false, fail("beat", "", unexpected(got))
	}
	in := numbers{script: "beat"}
	result.Version = in.read("version", fields[0])
	result.Unknown = in.read("unknown", fields[1]) == 1
	result.More = in.read("more", fields[2]) == 1
	left = in.read("left", fields[3]) == 1
	for _, f := range fields[4:] {
		result.Changed = append(result.Changed, text(f))
	}
	if in.err != nil {
		return result, false, fail("beat", "", in.err)
	}
	return result, left, nil
}

// Members implements store.Store.
func (s *Store) Members(ctx context.Context, queue string) ([]store.LiveMember, error) {
	if err := store.ValidateQueue(queue); err != nil {
		return nil, err
	}
	return s.members(ctx, "members", queue)
}

func (s *Store) members(ctx context.Context, op, queue string) ([]store.LiveMember, error) {
	got, err := s.run(ctx, s.membersCall(op, queue))
	if err != nil {
		return nil, err
	}
	return readMembers(op, queue, got)
}

func (s *Store) membersCall(op, queue string) call {
	k := s.clientsKeys()
	return call{
		op: op, queue: queue, script: s.scripts["members"], keys: []string{k.beats, k.members, k.trials, k.duties},
		args: []any{queue, maxSilent}, flat: true, joint: true,
	}
}

func readMembers(op, queue string, got any) ([]store.LiveMember, error) {
	fields, ok := got.([]string)
	if !ok || len(fields) < 2 {
		return nil, fail(op, queue, unexpected(got))
	}
	trials, err := strconv.Atoi(fields[1])
	if err != nil {
		return nil, fail(op, queue, unexpected(got))
	}
	_, owners := readTable(fields[0])
	live := make([]store.LiveMember, len(fields)-2)
	for i, t := range fields[2:] {
		_, names, _ := strings.Cut(t, " ")
		m := &live[i]
		m.Queue, m.Trial = queue, i < trials
		m.Consumer, m.Client, _ = strings.Cut(names, " ")
		m.Duties = duty.Of(m.Consumer, owners)
	}
	slices.SortFunc(live, func(a, b store.LiveMember) int { return strings.Compare(a.Consumer, b.Consumer) })
	return live, nil
}

// Duties implements store.Store. It is one call for several consumers, with 4,096 partitions in
// all, and one more for each queue whose consumers have changed and that no client has asked for
// since.
func (s *Store) Duties(ctx context.Context, r []store.DutyRequest) ([]store.Duties, error) {
	if err := store.ValidateDuties(r); err != nil {
		return nil, err
	}
	all := make([]store.Duties, 0, len(r))
	for begin, end := 0, 0; begin < len(r); begin = end {
		for partitions := 0; end < len(r) && (end == begin || partitions+r[end].Partitions <= dutiesCall); end++ {
			partitions += r[end].Partitions
		}
		some, err := s.duties(ctx, r[begin:end])
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func (s *Store) duties(ctx context.Context, r []store.DutyRequest) ([]store.Duties, error) {
	k := s.clientsKeys()
	c := call{op: "duties", script: s.scripts["duties"], keys: []string{k.members, k.changes, k.duties}, args: []any{len(r), store.MaxRanked}}
	for _, one := range r {
		c.args = append(c.args, one.Queue, one.Consumer, one.Partitions)
	}
	got, err := s.run(ctx, c)
	if err != nil {
		return nil, err
	}
	const each = 5
	fields, ok := got.([]any)
	if !ok || len(fields) != each*len(r) {
		return nil, fail("duties", "", unexpected(got))
	}
	all := make([]store.Duties, len(r))
	for i, one := range r {
		if all[i], err = s.readDuties(ctx, one, fields[each*i:each*(i+1)]); err != nil {
			return nil, fail("duties", one.Queue, err)
		}
	}
	return all, nil
}

// readDuties reads {count, index, version, table, names} of one consumer. If the table is of other
// consumers, or for fewer partitions, it makes and stores another.
func (s *Store) readDuties(ctx context.Context, r store.DutyRequest, fields []any) (store.Duties, error) {
	in := numbers{script: "duties"}
	d := store.Duties{
		Consumers: min(int(in.read("count", fields[0])), store.MaxRanked), Index: int(in.read("index", fields[1])), Owners: make([]int, r.Partitions),
	}
	if d.Index >= store.MaxRanked {
		d.Index = -1
	}
	if in.err != nil {
		return d, in.err
	}
	for p := range d.Owners {
		d.Owners[p] = -1
	}
	indexes, owners := readTable(text(fields[3]))
	if found, _ := fields[4].([]any); len(found) > 0 {
		names := make([]string, len(found))
		for i, f := range found {
			names[i] = text(f)
		}
		indexes, _ = readTable(s.assign(ctx, r, text(fields[2]), owners, names))
	}
	copy(d.Owners, indexes)
	return d, nil
}

// assign makes the table of a queue's duties, stores it, and returns the one that holds. That the
// store does not take it is no error: another client makes the same one.
func (s *Store) assign(ctx context.Context, r store.DutyRequest, version string, owners, names []string) string {
	k := s.clientsKeys()
	table := makeTable(version, duty.Assign(r.Queue, owners, names, r.Partitions), names)
	ctx, end := context.WithTimeout(ctx, time.Second)
	defer end()
	got, err := s.run(ctx, call{
		op: "assign", queue: r.Queue, script: s.scripts["assign"], keys: []string{k.changes, k.duties}, args: []any{r.Queue, version, table},
	})
	if err != nil {
		s.config.Logger.DebugContext(ctx, "dueq: the duties of a queue's consumers could not be stored",
			slog.String("queue", r.Queue), slog.Any("error", err))
	}
	if stored := text(got); stored != "" {
		return stored
	}
	return table
}

// makeTable returns "version partitions index... / name...". names are in order.
func makeTable(version string, owners, names []string) string {
	var indexes, ownerNames strings.Builder
	for _, owner := range owners {
		i, found := slices.BinarySearch(names, owner)
		if !found {
			i = -1
		}
		indexes.WriteString(" " + strconv.Itoa(i))
		ownerNames.WriteString(" " + owner)
	}
	return version + " " + strconv.Itoa(len(owners)) + indexes.String() + " /" + ownerNames.String()
}

// readTable returns the indexes and the names of a table; none of one that cannot be read.
func readTable(table string) (indexes []int, owners []string) {
	numbers, names, _ := strings.Cut(table, " /")
	fields := strings.Fields(numbers)
	if len(fields) < 2 {
		return nil, nil
	}
	for _, f := range fields[2:] {
		i, err := strconv.Atoi(f)
		if err != nil || i >= store.MaxRanked {
			return nil, nil
		}
		indexes = append(indexes, i)
	}
	return indexes, strings.Fields(names)
}
