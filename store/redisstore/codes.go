package redisstore

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dueq-dev/dueq/store"
)

// What a script's answer to a batch has in the place of how many items were done.
const (
	noPartition = -1
	staleCall   = -2
	refusedCall = -3 // the partition has other settings than the caller knows
)

// batch runs a script on n items. A script that reads records stops early rather than
// hold up the server; then the next run continues where it stopped. args returns the
// arguments for the items from one on; absent is the code of every item when there is
// no such partition.
func (s *Store) batch(ctx context.Context, c call, n int, absent store.Code, args func(from int) []any) ([]store.PushResult, error) {
	results := make([]store.PushResult, n)
	for from := 0; from < n; {
		c.args = args(from)
		got, err := s.run(ctx, c)
		if err != nil {
			return nil, err
		}
		done, err := readAnswer(got, results[from:])
		if err != nil {
			return nil, fail(c.op, c.queue, err)
		}
		if done == noPartition {
			fill(results[from:], absent)
			break
		}
		from += done
	}
	return results, nil
}

// steps is batch for a numbered call: a step gets the number of items that were done before it,
// and its answer is about the whole call, as far as it is done.
func (s *Store) steps(ctx context.Context, c call, n int, absent store.Code, args func(from int) []any) ([]store.PushResult, error) {
	results := make([]store.PushResult, n)
	for from := 0; from < n; {
		c.args = args(from)
		got, err := s.run(ctx, c)
		if err != nil {
			return nil, err
		}
		done, err := readAnswer(got, results)
		switch {
		case err != nil:
			return nil, fail(c.op, c.queue, err)
		case done == noPartition:
			fill(results[from:], absent)
			return results, nil
		case done == staleCall:
			fill(results[from:], store.CodeStale)
			return results, nil
		case done <= from:
			return nil, fail(c.op, c.queue, unexpected(got))
		}
		from = done
	}
	return results, nil
}

func fill(results []store.PushResult, code store.Code) {
	for i := range results {
		results[i] = store.PushResult{Code: code}
	}
}

func codes(results []store.PushResult, err error) ([]store.Code, error) {
	if err != nil {
		return nil, err
	}
	out := make([]store.Code, len(results))
	for i, r := range results {
		out[i] = r.Code
	}
	return out, nil
}

// readAnswer reads {done, exceptions, ...} into results, and returns done.
func readAnswer(reply any, results []store.PushResult) (int, error) {
	fields, ok := reply.([]any)
	if !ok || len(fields) < 2 {
		return 0, unexpected(reply)
	}
	done, ok := fields[0].(int64)
	text, isText := fields[1].(string)
	if !ok || !isText || done == 0 || done < staleCall || done > int64(len(results)) {
		return 0, unexpected(reply)
	}
	return int(done), readExceptions(text, results)
}

// readExceptions reads "index code id" of each item that is not simply OK: the index from 1, the
// id "-" where there is none.
func readExceptions(text string, results []store.PushResult) error {
	words := strings.Fields(text)
	if len(words)%3 != 0 {
		return unexpected(text)
	}
	for ; len(words) > 0; words = words[3:] {
		i, badIndex := strconv.Atoi(words[0])
		code, badCode := strconv.Atoi(words[1])
		if badIndex != nil || badCode != nil || i < 1 || i > len(results) || code < 0 || code > int(store.CodeMoved) {
			return unexpected(text)
		}
		results[i-1].Code = store.Code(code)
		if words[2] != "-" {
			// A holder that is no id has been put there by another program; the code still stands.
			results[i-1].Holder, _ = store.ParseID(words[2])
		}
	}
	return nil
}

func unexpected(reply any) error {
	return fmt.Errorf("unexpected answer %.100q: %w", fmt.Sprint(reply), store.ErrCorrupt)
}

// badField is the error of a field of a script's reply that cannot be read.
func badField(script, field, value string) error {
	return fmt.Errorf("reply of %s: %s %.100q: %w", script, field, value, store.ErrCorrupt)
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// numberIn reads a number of a script's reply. What is no number is ErrCorrupt.
func numberIn(script, field string, value any) (int64, error) {
	switch v := value.(type) {
	case int64:
		return v, nil
	case string:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n, nil
		}
		// The score of an element that another program has put there.
		if f, err := strconv.ParseFloat(v, 64); err == nil && !math.IsNaN(f) {
			return int64(max(math.MinInt64, min(f, 1<<62))), nil
		}
	}
	return 0, badField(script, field, fmt.Sprint(value))
}

// numbers reads the numbers of a script's reply. err is that of the first which cannot be read.
type numbers struct {
	script string
	err    error
}

func (r *numbers) read(field string, value any) int64 {
	n, err := numberIn(r.script, field, value)
	if r.err == nil {
		r.err = err
	}
	return n
}

// optional is read for a field that can be missing, which stands for 0.
func (r *numbers) optional(field string, value any) int64 {
	if value == nil {
		return 0
	}
	return r.read(field, value)
}

// sequence writes a call's number as the scripts compare it: 20 digits.
func sequence(n uint64) string { return fmt.Sprintf("%020d", n) }
