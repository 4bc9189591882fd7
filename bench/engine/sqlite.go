package engine

import (
	"context"
	"database/sql"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver
)

// onSQLite is one table with an index by due time; a lease moves the due time.
type onSQLite struct {
	db    *sql.DB
	tx    *sql.Tx // of the running step
	group group
}

func openSQLite(ctx context.Context, dir string) (Engine, error) {
	const options = "?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)"
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "queue.db")+options)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // SQLite has one writer
	e := &onSQLite{db: db}
	e.group.commit = e.commit
	_, err = db.ExecContext(ctx, `CREATE TABLE message (id INTEGER PRIMARY KEY, due INTEGER NOT NULL, attempt INTEGER NOT NULL DEFAULT 0, body BLOB NOT NULL);
		CREATE INDEX by_due ON message (due, id)`)
	return e, err
}

func (e *onSQLite) commit(run func() error) error {
	tx, err := e.db.BeginTx(context.Background(), nil) // several callers share it
	if err != nil {
		return err
	}
	e.tx = tx
	if err := run(); err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

// Send implements Engine.
func (e *onSQLite) Send(ctx context.Context, bodies [][]byte, later bool) error {
	due := time.Now().UnixMilli()
	if later {
		due += time.Hour.Milliseconds()
	}
	return e.group.do(func() error {
		insert, err := e.tx.PrepareContext(ctx, "INSERT INTO message (due, body) VALUES (?, ?)")
		if err != nil {
			return err
		}
		defer func() { _ = insert.Close() }()
		for _, body := range bodies {
			if _, err := insert.ExecContext(ctx, due, body); err != nil {
				return err
			}
		}
		return nil
	})
}

// Take implements Engine.
func (e *onSQLite) Take(ctx context.Context) error {
	var id, attempt int64
	var body []byte
	err := e.group.do(func() error {
		now := time.Now().UnixMilli()
		return e.tx.QueryRowContext(ctx, `UPDATE message SET due = ?, attempt = attempt + 1
			WHERE id = (SELECT id FROM message WHERE due <= ? ORDER BY due, id LIMIT 1) RETURNING id, attempt, body`,
			now+time.Minute.Milliseconds(), now).Scan(&id, &attempt, &body)
	})
	if err != nil {
		return err
	}
	return e.group.do(func() error {
		_, err := e.tx.ExecContext(ctx, "DELETE FROM message WHERE id = ? AND attempt = ?", id, attempt)
		return err
	})
}

// Close implements Engine.
func (e *onSQLite) Close() error { return e.db.Close() }
