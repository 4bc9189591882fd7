package embedded

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
	"github.com/dueq-dev/dueq/store/embedded/internal/wal"
)

// withFrame returns the files of a store with three messages and then one frame more, with
// a good checksum.
func withFrame(t *testing.T, body []byte) map[string][]byte {
	t.Helper()
	d := faultdisk.New()
	r := diskRig(t, d)
	r.push(messages(3)...)
	mustClose(t, r.Store)
	l, err := wal.Open(wal.Config{Disk: d, Logger: quiet}, func(wal.Spot, []byte) (func() error, error) { return func() error { return nil }, nil })
	if err != nil {
		t.Fatal(err)
	}
	l.Append(body)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return contentOf(t, d)
}

// stepOf returns a frame of a partition that lists changes.
func stepOf(changes ...byte) []byte {
	return append(append(appendShort([]byte{frameStep}, "orders"), 0), changes...)
}

func TestOpen_WhatANewerVersionWroteIsNeitherOpenedNorRepaired(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, want string
		frame      []byte
	}{
		{"kind of frame", "a frame of kind 9", []byte{9, 1, 2, 3}},
		{"code of a change", "a change of code 200", stepOf(200, 1, 2, 3)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			content := withFrame(t, tt.frame)
			for _, repair := range []bool{false, true} {
				d := faultdisk.New()
				for name, data := range content {
					d.Put(name, slices.Clone(data))
				}
				_, err := openOn(t.Context(), d, Config{Logger: quiet, Repair: repair}, tuning{byHand: true})
				if !errors.Is(err, ErrNewer) || errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("repair %v: %v", repair, err)
				}
				if after := contentOf(t, d); !maps.EqualFunc(after, content, slices.Equal) {
					t.Errorf("repair %v: the files were changed", repair)
				}
			}
		})
	}
}

// What makes no sense although its checksum is good is skipped as a whole: also the changes
// that could be read.
func TestRepair_InvalidStepIsSkippedCompletely(t *testing.T) {
	t.Parallel()
	first := id(1)
	removed := append([]byte{opRemove}, first[:]...)
	for _, frame := range [][]byte{
		stepOf(append(removed, opRemove, 1, 2)...),
		{frameStep, 3, 'a'},
		{frameSettings, 1},
	} {
		content := withFrame(t, frame)
		if _, err := openContent(t, content, false); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("opened with %v", err)
		}
		checkRepair(t, content)
		s, err := openContent(t, content, true)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(s.Damage()); n != 1 {
			t.Errorf("%d damaged parts, want 1: %v", n, s.Damage())
		}
		all, err := s.Stats(t.Context(), "orders")
		if err != nil || all[0].Scheduled != 3 {
			t.Errorf("%+v, %v: want 3 messages", all, err)
		}
		mustClose(t, s)
	}
}
