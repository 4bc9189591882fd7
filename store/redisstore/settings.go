package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/dueq-dev/dueq/store"
)

// queueSettings are a queue's settings. The version is the instant of the last change in
// ms; it grows with each change, so of two copies the one with the higher version is the
// later, also when the queue was lost and made again between them. What is left of a queue
// that was deleted has a version and no partitions.
type queueSettings struct {
	store.Settings
	deleting int64 // until when pushes wait for a deletion, ms; 0: there is none
}

// gone reports whether the settings are what is left of a queue that was deleted.
func (s queueSettings) gone() bool { return s.Version > 0 && s.Partitions == 0 }

// defaultSettings are those of a new queue. It gets its version when it is made.
func defaultSettings() (s queueSettings) {
	s.Partitions, s.MaxBody = store.DefaultPartitions, store.DefaultMaxBody
	return s
}

// later returns the later of two settings.
func later(a, b queueSettings) queueSettings {
	if b.Version > a.Version {
		return b
	}
	return a
}

// settingsFields are those of meta and of side, in the order of readCopy.
func settingsFields() []string {
	return append([]string{"layout", "version", "partitions", "changed_by"}, settingsNames()...)
}

// settingsNames are those of lib/settings.lua.
func settingsNames() []string {
	return []string{"max_body", "max_messages", "paused", "dead_retention", "max_dead", "history", "max_history", "max_attempts", "lease", "backoff_base", "backoff_most", "dedup_for", "from", "drained", "deleting"}
}

// settingsValues returns a value for each of settingsNames.
func settingsValues(s queueSettings) []any {
	return []any{
		s.MaxBody, s.MaxMessages, bit(s.Paused), s.DeadRetention, s.MaxDead, s.History, s.MaxHistory, s.MaxAttempts, s.Lease,
		s.BackoffBase, s.BackoffMost, s.DedupFor, s.From, s.Drained,
		s.deleting,
	}
}

// changedValues returns what a change makes of each, "" where it changes nothing. deleting
// is for how long a deletion may keep pushes waiting, in ms.
func changedValues(c store.Change, deleting string) []any {
	return []any{
		optional(c.MaxBody), optional(c.MaxMessages), optionalBit(c.Paused), optional(c.DeadRetention), optional(c.MaxDead),
		optional(c.History), optional(c.MaxHistory),
		optional(c.MaxAttempts), optional(c.Lease), optional(c.BackoffBase), optional(c.BackoffMost), optional(c.DedupFor),
		optional(c.From), optional(c.Drained), deleting,
	}
}

// readCopy reads a copy of the settings. found is false when there is none, or only what is
// left of a queue that was deleted.
func readCopy(fields []any) (settings queueSettings, found bool, err error) {
	if len(fields) != len(settingsFields()) {
		return queueSettings{}, false, unexpected(fields)
	}
	in := numbers{script: "settings"}
	switch layout, ok := fields[0].(string); {
	case !ok:
		settings.Version = in.optional("version", fields[1])
		return settings, false, in.err
	case layout != "1":
		return queueSettings{}, false, wrongLayout(layout)
	}
	settings.Version, settings.Partitions = in.optional("version", fields[1]), int(in.optional("partitions", fields[2]))
	settings.ChangedBy = text(fields[3])
	for i, value := range []any{
		&settings.MaxBody, &settings.MaxMessages, &settings.Paused, &settings.DeadRetention, &settings.MaxDead,
		&settings.History, &settings.MaxHistory,
		&settings.MaxAttempts, &settings.Lease, &settings.BackoffBase, &settings.BackoffMost, &settings.DedupFor,
		&settings.From, &settings.Drained, &settings.deleting,
	} {
		switch n := in.optional(settingsNames()[i], fields[4+i]); value := value.(type) {
		case *int:
			*value = int(n)
		case *int64:
			*value = n
		case *bool:
			*value = n == 1
		}
	}
	if in.err != nil {
		return queueSettings{}, false, in.err
	}
	if settings.Partitions < 1 || settings.Partitions > store.MaxPartitions || settings.Version < 1 {
		return queueSettings{}, false, fmt.Errorf("settings of version %d with %d partitions: %w",
			settings.Version, settings.Partitions, store.ErrCorrupt)
	}
	return settings, true, nil
}

// meta reads a queue's settings where they normally are.
func (s *Store) meta(ctx context.Context, op, queue string) (settings queueSettings, found bool, err error) {
	key := s.metaKey(queue)
	if err := s.start(ctx, op, queue, key); err != nil {
		return queueSettings{}, false, err
	}
	got, err := s.repeat(ctx, op, queue, func(int) (any, error) {
		return s.rdb.HMGet(ctx, key, settingsFields()...).Result()
	})
	if err != nil {
		return queueSettings{}, false, err
	}
	settings, found, err = readCopy(got.([]any))
	if err != nil {
		return queueSettings{}, false, fail(op, queue, err)
	}
	return settings, found, nil
}

// surveyed is how many partitions are asked for the settings when meta is missing. Nodes
// of a Cluster get partitions at random, so that as many are never all on those that are
// lost.
const surveyed = 64

// survey reads the copies of the settings in partitions 0 to n-1; one that is missing has
// version 0. It fails if any of their servers does not answer: the queue may be there.
func (s *Store) survey(ctx context.Context, op, queue string, n int) ([]queueSettings, error) {
	questions := make([]question, n)
	for i := range questions {
		questions[i] = s.ofCopy(op, store.Partition{Queue: queue, Index: i})
	}
	return s.askSettings(ctx, questions)
}

// askSettings asks for settings in hashes.
func (s *Store) askSettings(ctx context.Context, questions []question) ([]queueSettings, error) {
	answers, err := s.ask(ctx, questions)
	if err != nil {
		return nil, err
	}
	all := make([]queueSettings, len(answers))
	for i, answer := range answers {
		fields, ok := answer.([]any)
		if !ok {
			continue
		}
		if all[i], _, err = readCopy(fields); err != nil {
			return nil, fail(questions[i].op, questions[i].queue, err)
		}
	}
	return all, nil
}

// latest returns the settings with the highest version among meta and the partitions, of
// version 0 when there is neither, and the version that meta has. It changes nothing. While
// the queue is being deleted, partitions that were removed do not count.
func (s *Store) latest(ctx context.Context, op, queue string) (settings queueSettings, inMeta int64, err error) {
	settings, found, err := s.meta(ctx, op, queue)
	if err != nil {
		return queueSettings{}, 0, err
	}
	n := surveyed
	if found {
		n, inMeta = settings.Partitions, settings.Version
	}
	copies, err := s.survey(ctx, op, queue, n)
	if err != nil {
		return queueSettings{}, 0, err
	}
	return latestOf(settings, copies), inMeta, nil
}

// latestOf returns the latest of the settings in meta and their copies in partitions.
func latestOf(meta queueSettings, copies []queueSettings) queueSettings {
	latest := meta
	for _, c := range copies {
		if meta.deleting == 0 || !c.gone() {
			latest = later(latest, c)
		}
	}
	return latest
}

// read returns a queue's settings, also when only partitions have them.
func (s *Store) read(ctx context.Context, op, queue string) (queueSettings, error) {
	settings, found, err := s.meta(ctx, op, queue)
	if err == nil && !found {
		settings, _, err = s.latest(ctx, op, queue)
	}
	switch {
	case err != nil:
		return queueSettings{}, err
	case settings.Version == 0:
		return queueSettings{}, fail(op, queue, store.ErrNotFound)
	case settings.gone():
		s.forget(queue, settings.Version)
		return queueSettings{}, fail(op, queue, errDeleted)
	}
	s.remember(queue, settings)
	return settings, nil
}

// change writes settings: the latest there are with c applied, the defaults if there are
// none and the queue is to be made. One that was deleted is not made if it is only to be
// restored. It reports whether anything changed.
func (s *Store) change(ctx context.Context, op, queue string, c store.Change, restore bool) (queueSettings, bool, error) {
	for range reconciliations {
		settings, changed, err := s.changeOnce(ctx, op, queue, c, restore)
		if !errors.Is(err, errOutdated) {
			return settings, changed, err
		}
	}
	return queueSettings{}, false, fail(op, queue, errUnsettled)
}

func (s *Store) changeOnce(ctx context.Context, op, queue string, c store.Change, restore bool) (queueSettings, bool, error) {
	base, inMeta, err := s.latest(ctx, op, queue)
	if err != nil {
		return queueSettings{}, false, err
	}
	stored, deleted := base.Version > 0 && !base.gone(), int64(0)
	if known := s.restorable(queue); known != nil {
		base = later(base, known.queueSettings)
	}
	if base.gone() {
		s.forget(queue, base.Version)
		if restore || !c.Create {
			return queueSettings{}, false, fail(op, queue, errDeleted)
		}
		deleted, base = base.Version, queueSettings{}
	}
	if inMeta == 0 && (c.Create || base.Version > 0) {
		// The name is listed before the queue is made, so that no queue is unlisted. When its
		// partitions exist, listing can wait for a beat: at maxmemory it is refused.
		if err := s.list(ctx, op, queue); err != nil && !stored {
			return queueSettings{}, false, err
		}
	}
	if inMeta < base.Version {
		s.config.Logger.WarnContext(ctx, "dueq: the settings of a queue were lost or out of date; its latest settings are restored",
			slog.String("queue", queue), slog.Int("partitions", base.Partitions), slog.Bool("paused", base.Paused))
	}
	return s.write(ctx, op, queue, base, deleted, c, "")
}

// list enters a queue into the set of queues.
func (s *Store) list(ctx context.Context, op, queue string) error {
	_, err := s.repeat(ctx, op, queue, func(int) (any, error) {
		return s.rdb.SAdd(ctx, s.queuesKey(), queue).Result()
	})
	return err
}

// reconcile brings a partition that has settings of another version, 0 if it does not
// exist, and the queue to the same settings: whichever has the older ones gets the later.
// The caller then repeats what the partition refused. A queue that was deleted is made
// again, or ErrNotFound returned if only what was lost is to be restored.
func (s *Store) reconcile(ctx context.Context, op string, p store.Partition, version int64, restore bool) error {
	settings, found, err := s.meta(ctx, op, p.Queue)
	if err != nil {
		return err
	}
	known := s.restorable(p.Queue)
	if !found || settings.Version < version || known != nil && settings.Version < known.Version {
		if settings, _, err = s.change(ctx, op, p.Queue, store.Change{Create: true}, restore); err != nil {
			return err
		}
	}
	s.remember(p.Queue, settings)
	if settings.Version == version || p.Index >= settings.Partitions {
		return nil // the caller sees that the queue has no such partition
	}
	_, err = s.configurePartition(ctx, op, p, settings)
	return err
}

// reconciliations are how often a call is repeated because settings differed. Each time
// the caller knows later settings than before, so more are needed only while the settings
// keep changing.
const reconciliations = 10

var errUnsettled = fmt.Errorf("the settings changed %d times during the call: %w", reconciliations, store.ErrUnavailable)

// errOutdated is the error of a change to settings that were deleted meanwhile.
var errOutdated = errors.New("what the change was made to was deleted")

// write runs the settings script, which takes base over unless meta is later. deleted is the
// version of a deletion that a new queue comes after, 0 if there was none.
func (s *Store) write(
	ctx context.Context, op, queue string, base queueSettings, deleted int64, c store.Change, deleting string,
) (queueSettings, bool, error) {
	if base.Version == 0 {
		base = defaultSettings()
		if c.Partitions != nil {
			base.Partitions = *c.Partitions
		}
	}
	args := []any{bit(c.Create), c.If, c.Token, optional(c.Partitions), base.Version, base.Partitions, base.ChangedBy, deleted}
	args = append(append(args, changedValues(c, deleting)...), settingsValues(base)...)
	got, err := s.run(ctx, call{
		op: op, queue: queue, script: s.scripts["settings"], keys: []string{s.metaKey(queue)}, args: args,
	})
	if err != nil {
		return queueSettings{}, false, err
	}
	settings, changed, err := readSettings(got, c)
	if err != nil {
		return queueSettings{}, false, &store.Error{Op: op, Queue: queue, Field: fieldOf(err), Err: err}
	}
	s.remember(queue, settings)
	return settings, changed, nil
}

// readSettings reads the reply of the settings script.
func readSettings(reply any, c store.Change) (queueSettings, bool, error) {
	fields, ok := reply.([]any)
	if !ok || len(fields) == 0 {
		return queueSettings{}, false, unexpected(reply)
	}
	status, err := numberIn("settings", "status", fields[0])
	switch {
	case err != nil:
		return queueSettings{}, false, err
	case status == -1:
		return queueSettings{}, false, store.ErrNotFound
	case status == -2 && len(fields) == 2 && c.Partitions != nil:
		return queueSettings{}, false, fmt.Errorf("%d is fewer than the queue has, %s: %w",
			*c.Partitions, text(fields[1]), store.ErrInvalid)
	case status == -5 && len(fields) == 3:
		return queueSettings{}, false, fmt.Errorf("the queue is growing from %s to %s partitions: %w",
			text(fields[1]), text(fields[2]), store.ErrConflict)
	case status == -3 && len(fields) == 2:
		return queueSettings{}, false, fmt.Errorf("version %s: %w", text(fields[1]), store.ErrConflict)
	case status == -4:
		return queueSettings{}, false, errOutdated
	case status < 0:
		return queueSettings{}, false, unexpected(reply)
	}
	fields[0] = "1"
	settings, _, err := readCopy(fields)
	return settings, status > 0, err
}

// fieldOf names the only field of a Change that the server itself refuses.
func fieldOf(err error) string {
	if errors.Is(err, store.ErrInvalid) {
		return "partitions"
	}
	return ""
}
