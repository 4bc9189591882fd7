package embedded

import (
	"testing"
	"time"

	"github.com/dueq-dev/dueq/store"
)

func TestDescribe_Sync(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		syncs syncs
		text  string
		level store.Level
	}{{syncs{}, "always", store.Fine}, {syncs{every: 500 * time.Millisecond}, "500ms", store.Fine}, {syncs{never: true}, "never", store.Warn}} {
		if f := test.syncs.finding(); test.syncs.text() != test.text || f.Level != test.level || (f.Fix == "") != (f.Level == store.Fine) {
			t.Errorf("%+v: %s, %+v, want %s and level %d", test.syncs, test.syncs.text(), f, test.text, test.level)
		}
	}
}

func TestDescribe_Space(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		files  store.Files
		scarce bool
		level  store.Level
	}{{store.Files{}, false, store.Fine}, {store.Files{}, true, store.Warn}, {store.Files{Full: true}, true, store.Fail}} {
		if f := ofSpace(&test.files, test.scarce); f.Level != test.level || (f.Fix == "") != (f.Level == store.Fine) {
			t.Errorf("%+v, scarce %t: %+v, want level %d", test.files, test.scarce, f, test.level)
		}
	}
}

func TestDescribe_FilesOfADirectory(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), t.TempDir(), Config{SyncEvery: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Configure(t.Context(), "work", store.Change{Create: true}); err != nil {
		t.Fatal(err)
	}
	d, err := s.Describe(t.Context())
	if err != nil || d.Kind != store.KindFile || d.Files.Segments != 1 || d.Files.Sync != "1s" || d.Files.Bytes <= before.Files.Bytes || d.Files.Full || len(d.Findings) != 2 {
		t.Errorf("%+v, %+v, %v", d, d.Files, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Describe(t.Context()); err == nil {
		t.Error("a closed store is described")
	}
}
