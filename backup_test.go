package dueq_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

func TestBackup_OpensAsAStore(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	client, err := dueq.Open(t.Context(), "file:"+dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Queue("orders").Send(t.Context(), dueq.Message{Key: "order-42", Body: []byte("cancel"), Delay: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if err := client.Backup(t.Context(), dir+".backup"); err != nil {
		t.Fatal(err)
	}
	if err := client.Backup(t.Context(), dir+".backup"); !errors.Is(err, dueq.ErrInvalid) {
		t.Errorf("into a directory that exists: %v", err)
	}
	copied, err := dueq.Open(t.Context(), "file:"+dir+".backup", nil) // while the store is open
	if err != nil {
		t.Fatal(err)
	}
	got, err := copied.Queue("orders").Get(t.Context(), dueq.Key("order-42"))
	if err != nil || string(got.Body) != "cancel" {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := errors.Join(copied.Close(), client.Close()); err != nil {
		t.Error(err)
	}
	if err := client.Backup(t.Context(), dir+".late"); !errors.Is(err, dueq.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestBackup_OnlyOfFiles(t *testing.T) {
	t.Parallel()
	client := opened(t)(dueq.NewMemory(nil))
	defer func() { _ = client.Close() }()
	if err := client.Backup(t.Context(), filepath.Join(t.TempDir(), "backup")); !errors.Is(err, dueq.ErrInvalid) {
		t.Errorf("of a store in memory: %v", err)
	}
}
