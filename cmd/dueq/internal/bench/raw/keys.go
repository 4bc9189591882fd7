package raw

import (
	"context"
	"fmt"
	"slices"
)

// Own takes note of a queue whose keys Clean is to remove. The names are those that
// docs/REDIS.md lists.
func (s *Server) Own(queue string, partitions int) {
	for i := range partitions {
		for _, part := range [...]string{"side", "msg", "leased", "due", "dead", "calls", "done", "past"} {
			s.keys = append(s.keys, fmt.Sprintf("%s:{%s:%d}:%s", s.prefix, queue, i, part))
		}
	}
	for _, part := range [...]string{"meta", "members"} {
		s.keys = append(s.keys, fmt.Sprintf("%s:{%s}:%s", s.prefix, queue, part))
	}
	s.keys = append(s.keys, s.prefix+":queues")
}

// Clean removes every key of the run by its name; the server frees the memory in the
// background. Nothing may write to them any more: what was broken off on its way to the
// server is waited for by asking it something first.
func (s *Server) Clean(ctx context.Context) error {
	const atOnce = 500
	if err := s.rdb.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("remove the keys with prefix %q: %w", s.prefix, err)
	}
	for names := range slices.Chunk(s.keys, atOnce) {
		if err := s.rdb.Unlink(ctx, names...).Err(); err != nil {
			return fmt.Errorf("remove the keys with prefix %q: %w", s.prefix, err)
		}
	}
	s.keys = nil
	return nil
}
