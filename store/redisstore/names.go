package redisstore

import (
	"cmp"
	"context"

	"github.com/dueq-dev/dueq/store"
)

// Names implements store.Store. It costs one call.
func (s *Store) Names(ctx context.Context, p store.Partition, r store.NamesRequest) (store.Names, error) {
	if err := firstError(p.Validate(), r.Validate()); err != nil {
		return store.Names{}, err
	}
	if err := validateScan(r.Cursor); err != nil {
		return store.Names{}, err
	}
	got, err := s.run(ctx, call{
		op: "names", queue: p.Queue, script: s.scripts["names"], keys: s.partitionKeys(p, 1), args: []any{cmp.Or(r.Cursor, "0"), r.Limit},
	})
	if err != nil {
		return store.Names{}, err
	}
	names, err := readNames(got)
	if err != nil {
		return store.Names{}, fail("names", p.Queue, err)
	}
	return names, nil
}

func validateScan(cursor string) error {
	for i := range len(cursor) {
		if cursor[i] < '0' || cursor[i] > '9' || i == 20 {
			return store.Invalid("cursor", "%.40q is not a cursor of names", cursor)
		}
	}
	return nil
}

// readNames reads {cursor, kind and name, id, ...}.
func readNames(reply any) (names store.Names, err error) {
	fields, ok := reply.([]any)
	if !ok || len(fields)%2 != 1 {
		return store.Names{}, unexpected(reply)
	}
	if names.Next = text(fields[0]); names.Next == "0" {
		names.Next = ""
	}
	for i := 1; i < len(fields); i += 2 {
		name := text(fields[i])
		switch {
		case name == "":
			return store.Names{}, unexpected(reply)
		case name[0] != 'u':
			names.Keys = append(names.Keys, name[1:])
			continue
		}
		var named store.NamedByID
		if named.DedupID.UnmarshalText([]byte(name[1:])) != nil || named.ID.UnmarshalText([]byte(text(fields[i+1]))) != nil {
			continue // put there by another program
		}
		names.DedupIDs = append(names.DedupIDs, named)
	}
	return names, nil
}
