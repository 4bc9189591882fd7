package engine

import (
	"context"
	"encoding/binary"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
)

var (
	byDue  = []byte("due")     // due and id -> nothing
	byID   = []byte("message") // id -> attempt and body
	leases = []byte("lease")   // end of the lease and id -> attempt
)

// onBolt has three buckets: an index by due time, the messages, the leases.
type onBolt struct {
	db    *bbolt.DB
	tx    *bbolt.Tx // of the running step
	group group
}

func openBolt(_ context.Context, dir string) (Engine, error) {
	db, err := bbolt.Open(filepath.Join(dir, "queue.db"), 0o600, nil)
	if err != nil {
		return nil, err
	}
	e := &onBolt{db: db}
	e.group.commit = e.commit
	return e, db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{byDue, byID, leases} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *onBolt) commit(run func() error) error {
	return e.db.Update(func(tx *bbolt.Tx) error {
		e.tx = tx
		return run()
	})
}

// at returns the key of a message in an order by time.
func at(ms int64, id []byte) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(ms)), id...)
}

// Send implements Engine.
func (e *onBolt) Send(_ context.Context, bodies [][]byte, later bool) error {
	due := time.Now().UnixMilli()
	if later {
		due += time.Hour.Milliseconds()
	}
	return e.group.do(func() error {
		messages := e.tx.Bucket(byID)
		for _, body := range bodies {
			n, err := messages.NextSequence()
			if err != nil {
				return err
			}
			id := binary.BigEndian.AppendUint64(nil, n)
			if err := messages.Put(id, append([]byte{0}, body...)); err != nil {
				return err
			}
			if err := e.tx.Bucket(byDue).Put(at(due, id), nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// Take implements Engine.
func (e *onBolt) Take(context.Context) error {
	var id, lease []byte
	err := e.group.do(func() error {
		now := time.Now().UnixMilli()
		first, _ := e.tx.Bucket(byDue).Cursor().First()
		if first == nil || int64(binary.BigEndian.Uint64(first)) > now {
			return errNothingDue
		}
		id = append([]byte(nil), first[8:]...)
		if err := e.tx.Bucket(byDue).Delete(first); err != nil {
			return err
		}
		lease = at(now+time.Minute.Milliseconds(), id)
		return e.tx.Bucket(leases).Put(lease, []byte{1})
	})
	if err != nil {
		return err
	}
	return e.group.do(func() error {
		if err := e.tx.Bucket(leases).Delete(lease); err != nil {
			return err
		}
		return e.tx.Bucket(byID).Delete(id)
	})
}

// Close implements Engine.
func (e *onBolt) Close() error { return e.db.Close() }
