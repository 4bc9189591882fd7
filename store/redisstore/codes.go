package redisstore

import (
	"context"
	"fmt"
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
// hold up the server; then the next run goes on where it stopped. args returns the
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
	for _, exception := range strings.Fields(text) {
		if err := readException(exception, results); err != nil {
			return 0, err
		}
	}
	return int(done), nil
}

// readException reads "index:code" or "index:code:holder", the index from 1.
func readException(text string, results []store.PushResult) error {
	index, rest, _ := strings.Cut(text, ":")
	code, holder, held := strings.Cut(rest, ":")
	i, err := strconv.Atoi(index)
	if err != nil || i < 1 || i > len(results) {
		return unexpected(text)
	}
	n, err := strconv.Atoi(code)
	if err != nil {
		return unexpected(text)
	}
	results[i-1].Code = store.Code(n)
	if held {
		// A holder that is no id has been put there by somebody else; the code still stands.
		results[i-1].Holder, _ = store.ParseID(holder)
	}
	return nil
}

func unexpected(reply any) error {
	return fmt.Errorf("unexpected answer %.100q: %w", fmt.Sprint(reply), store.ErrCorrupt)
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func number(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case string:
		// Scores that are whole and below 2^53, and counters.
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n
		}
		f, _ := strconv.ParseFloat(v, 64)
		return int64(f)
	}
	return 0
}

// sequence writes a call's number as the scripts compare it: 20 digits.
func sequence(n uint64) string { return fmt.Sprintf("%020d", n) }
