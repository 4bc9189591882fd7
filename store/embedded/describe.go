package embedded

import (
	"context"
	"fmt"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// Describe returns how the store keeps messages, and what that means for them.
func (s *Store) Describe(ctx context.Context) (store.Description, error) {
	if err := s.usable(ctx); err != nil {
		return store.Description{}, err
	}
	if s.log == nil {
		return store.Description{Kind: store.KindMemory, Findings: []store.Finding{{
			Check: "persistence", Level: store.Warn, Found: "in memory", Fix: "use file: or a Redis for messages that must survive: they are lost when the process ends",
		}}}, nil
	}
	oldest, active := s.log.Ends()
	files := &store.Files{
		Bytes: s.log.Size(), Needed: s.live.all(), Segments: int(active-oldest) + 1, Sync: s.syncs.text(), Full: s.log.Full(),
	}
	return store.Description{Kind: store.KindFile, Files: files, Findings: []store.Finding{s.syncs.finding(), ofSpace(files, s.log.Scarce())}}, nil
}

// syncs is when changes are on disk.
type syncs struct {
	every time.Duration // 0: before a call returns
	never bool
}

func (y syncs) text() string {
	switch {
	case y.never:
		return "never"
	case y.every > 0:
		return y.every.String()
	}
	return "always"
}

func (y syncs) finding() store.Finding {
	f := store.Finding{Check: "persistence", Found: "calls wait for the disk"}
	switch {
	case y.never:
		f.Level, f.Found = store.Warn, "the operating system decides when changes are written"
		f.Fix = "open the directory without sync=never: a power cut loses what was not written"
	case y.every > 0:
		f.Found = "changes are written every " + y.text()
	}
	return f
}

// ofSpace judges the space on the disk.
func ofSpace(files *store.Files, scarce bool) store.Finding {
	const mib = 20
	f := store.Finding{Check: "space", Found: fmt.Sprintf("%d MiB in %d files, %d MiB needed", files.Bytes>>mib, files.Segments, files.Needed>>mib)}
	const fix = "free space on the disk, or purge dead and done messages"
	switch {
	case files.Full:
		f.Level, f.Found, f.Fix = store.Fail, "the disk is full: new messages are refused", fix
	case scarce:
		f.Level, f.Found, f.Fix = store.Warn, "there is hardly any space left on the disk", fix
	}
	return f
}
