package redisstore

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/dueq-dev/dueq/store"
)

const (
	// checkMost is how many elements one script examines at most, whatever it is asked for:
	// each costs several calls, and 1,000 of them held up Redis for 6 to 10 ms.
	checkMost = 250
	// countedSide is up to how many fields a check counts side as a whole, in one step.
	countedSide = 4000
)

// checkParts are the parts of an audit, in order; a cursor is "part:cursor of the
// scan.elements of its next page that were examined".
func checkParts() []string {
	return []string{"sums", "msg", "due", "leased", "dead", "side", "done", "past", "calls"}
}

// Check implements store.Store. Each element is looked at in one instant, so a partition
// that is in use gives no false alarms. The copies of the queue's settings are compared
// in the first step of partition 0.
func (s *Store) Check(ctx context.Context, p store.Partition, r store.CheckRequest) (store.CheckResult, error) {
	if err := firstError(p.Validate(), r.Validate()); err != nil {
		return store.CheckResult{}, err
	}
	part, at, skip, err := parseCheckCursor(r.Cursor)
	if err != nil {
		return store.CheckResult{}, err
	}
	got, err := s.run(ctx, call{
		op: "check", queue: p.Queue, script: s.scripts["check"], keys: s.partitionKeys(p, allKeys),
		args: []any{part, at, skip, min(r.Limit, checkMost), countedSide},
	})
	if err != nil {
		return store.CheckResult{}, err
	}
	fields, ok := got.([]any)
	if !ok || len(fields) < 3 || len(fields)%2 != 1 {
		return store.CheckResult{}, fail("check", p.Queue, unexpected(got))
	}
	in := numbers{script: "check"}
	result := store.CheckResult{
		Examined: int(in.read("examined", fields[2])),
		Next:     nextCheckCursor(part, text(fields[0]), in.read("skip", fields[1])),
	}
	if in.err != nil {
		return store.CheckResult{}, fail("check", p.Queue, in.err)
	}
	for i := 3; i < len(fields); i += 2 {
		result.Problems = append(result.Problems, store.Problem{ID: text(fields[i]), Text: text(fields[i+1])})
	}
	if r.Cursor == "" && p.Index == 0 {
		problems, err := s.checkSettings(ctx, p.Queue)
		if err != nil {
			return store.CheckResult{}, err
		}
		result.Problems = append(result.Problems, problems...)
	}
	return result, nil
}

func parseCheckCursor(s string) (part, at, skip string, err error) {
	if s == "" {
		return checkParts()[0], "0", "0", nil
	}
	part, rest, _ := strings.Cut(s, ":")
	at, skip, _ = strings.Cut(rest, ".")
	_, badAt := strconv.ParseUint(at, 10, 64)
	_, badSkip := strconv.ParseUint(skip, 10, 32)
	if badAt != nil || badSkip != nil || !slices.Contains(checkParts(), part) {
		return "", "", "", store.Unfit("cursor", s, " is not a cursor")
	}
	return part, at, skip, nil
}

func nextCheckCursor(part, at string, skip int64) string {
	if at != "0" || skip != 0 {
		return part + ":" + at + "." + strconv.FormatInt(skip, 10)
	}
	next := slices.Index(checkParts(), part) + 1
	if next == len(checkParts()) {
		return ""
	}
	return checkParts()[next] + ":0.0"
}
