package main

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	"github.com/dueq-dev/dueq"
)

// warnings is a handler of log records that keeps warnings and errors.
type warnings struct {
	mu      sync.Mutex
	records []slog.Record
}

// Enabled implements slog.Handler.
func (w *warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle implements slog.Handler.
func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.records = append(w.records, r.Clone())
	return nil
}

// WithAttrs implements slog.Handler. The library's log has none.
func (w *warnings) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup implements slog.Handler. The library's log has none.
func (w *warnings) WithGroup(string) slog.Handler { return w }

// forget removes what was kept.
func (w *warnings) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.records = nil
}

// findings returns what was kept as findings.
func (w *warnings) findings() []finding {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]finding, 0, len(w.records))
	for _, r := range w.records {
		f := finding{Check: "log", Level: dueq.FindingWarn, Found: strings.TrimPrefix(r.Message, "dueq: ")}
		r.Attrs(func(attr slog.Attr) bool {
			switch attr.Key {
			case "error":
				f.Found += ": " + attr.Value.String()
			case "fix":
				f.Fix = attr.Value.String()
			}
			return true
		})
		all = append(all, f)
	}
	return all
}
