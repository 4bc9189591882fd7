package wal

import (
	"errors"
	"fmt"
	"log/slog"
)

// DamageError is a part of the log that cannot be read although it was durable.
type DamageError struct {
	File   string
	Offset int
	Bytes  int // 0: the whole file
	Reason string
}

// Error returns file, offset and reason, on one line.
func (d *DamageError) Error() string {
	return fmt.Sprintf("%s, offset %d: %s", d.File, d.Offset, d.Reason)
}

// ReadFunc decodes a frame when a log is opened, and returns a function that applies it, or
// an error. Several goroutines call a ReadFunc at a time; one calls the functions, in the
// order of the log. A reference to body keeps the whole segment in memory.
type ReadFunc func(at Spot, body []byte) (apply func() error, err error)

// Open reads the log from its beginning, applies each frame in order, and makes the log
// ready for appending. A log that does not exist is made. Segments are read ahead by as
// many goroutines as can run at a time, at most 4, and take up to 64 MiB of memory then, or
// as much as the largest of them.
//
// A torn tail is cut off. Damage, or an error of read or of what it returned, is returned
// as *DamageError; with Config.Salvage it is skipped and listed by [Log.Damage]. ErrNewer
// and ErrGivenUp from these functions are always returned.
func Open(c Config, read ReadFunc) (*Log, error) {
	l := newLog(c)
	r := &recovery{log: l, salvage: c.Salvage, read: read}
	err := errors.Join(r.run(), closeFiles(r.foreign))
	if err == nil {
		err = l.begin(r.foreign)
	}
	if err != nil {
		return nil, errors.Join(err, closeFiles(l.segments))
	}
	go l.commit()
	return l, nil
}

// Inspect reads the log as Open with Config.Salvage does, but changes nothing, and
// returns all damage.
func Inspect(c Config, read ReadFunc) ([]DamageError, error) {
	l := newLog(c)
	r := &recovery{log: l, salvage: true, readOnly: true, read: read}
	err := r.run()
	return l.damage, errors.Join(err, closeFiles(r.foreign), closeFiles(l.segments))
}

func closeFiles(segments []*segment) error {
	var err error
	for _, s := range segments {
		err = errors.Join(err, s.file.Close())
	}
	return err
}

// Damage returns what was skipped when the log was opened with Config.Salvage.
func (l *Log) Damage() []DamageError { return l.damage }

// recovery reads segments, the oldest first. It changes nothing on the disk: a log that
// cannot be opened stays as it was found.
type recovery struct {
	log      *Log
	salvage  bool
	readOnly bool
	read     ReadFunc
	begins   uint32     // number of the first segment that is needed
	used     bool       // there is a reserve file, which is made after the first segment
	foreign  []*segment // salvaged, but not of this log
}

// found returns damage as an error, or adds it to the list when it is to be skipped.
func (r *recovery) found(d *DamageError) error {
	if !r.salvage {
		return d
	}
	if !r.readOnly {
		r.log.logger.Error("skipping what is damaged",
			slog.String("file", d.File), slog.Int("offset", d.Offset), slog.Int("bytes", d.Bytes), slog.String("reason", d.Reason))
	}
	r.log.damage = append(r.log.damage, *d)
	return nil
}

func (r *recovery) run() error {
	if err := r.identify(); err != nil {
		return err
	}
	ahead := r.log.readAhead(r.read)
	defer ahead.stop()
	var previous *segment
	for _, s := range r.log.segments {
		if err := r.follows(previous, s); err != nil {
			return err
		}
		if err := r.apply(ahead.next()); err != nil {
			return err
		}
		previous = s
	}
	return r.complete(previous)
}

// follows checks that a segment is the successor of another, nil for none.
func (r *recovery) follows(previous, s *segment) error {
	if previous == nil {
		return nil
	}
	if want := max(previous.number+1, previous.follower); s.number > want {
		return r.missing(want, s.number-1)
	}
	if s.lost || previous.lost || s.before == previous.identity.salt {
		return nil
	}
	return r.found(&DamageError{File: s.name, Reason: fmt.Sprintf("it does not follow this %s: one of them is from another copy of the store", previous.name)})
}

// missing reports a gap.
func (r *recovery) missing(first, last uint32) error {
	d := &DamageError{File: segmentName(first), Reason: "the file is missing"}
	if last != first {
		d.Reason = fmt.Sprintf("all files from this to %s are missing", segmentName(last))
	}
	return r.found(d)
}

// complete checks that neither the first nor the last segments are missing. Segments that
// were dropped may still be there, if a crash undid the removal.
func (r *recovery) complete(last *segment) error {
	l := r.log
	if last == nil && r.used {
		return r.found(&DamageError{File: reserveName, Reason: "it belongs to a log, and all files of that are missing"})
	}
	if last == nil {
		return nil
	}
	if first := l.segments[0].number; first > r.begins {
		if err := r.missing(r.begins, first-1); err != nil {
			return err
		}
	}
	if last.follower > 0 {
		return r.missing(last.follower, last.follower)
	}
	return nil
}

// emptyFrom reports whether no segment from the i-th on has anything behind its head.
func (l *Log) emptyFrom(i int) bool {
	for _, s := range l.segments[i:] {
		if s.size > segmentHead {
			return false
		}
	}
	return true
}

// apply applies the frames of a segment while it is read.
func (r *recovery) apply(from *reading) error {
	for chunk := range from.found {
		for i := range chunk {
			if err := r.applyOne(from.name, &chunk[i]); err != nil {
				return err
			}
		}
	}
	r.begins = max(r.begins, from.begins)
	r.log.highest = max(r.log.highest, from.follower)
	return nil
}

func (r *recovery) applyOne(file string, f *finding) error {
	if f.damage != nil {
		return r.found(f.damage)
	}
	err := f.err
	if err == nil {
		err = f.apply()
	}
	switch {
	case err == nil, errors.Is(err, ErrGivenUp):
		return err
	case errors.Is(err, ErrNewer):
		return fmt.Errorf("%s, offset %d: %w", file, f.at, err)
	}
	return r.found(&DamageError{File: file, Offset: f.at, Bytes: f.bytes, Reason: err.Error()})
}
