package wal

import (
	"errors"
	"fmt"
	"log/slog"
)

// DamageError is a place of the log that cannot be read although it was durable once.
type DamageError struct {
	File   string
	Offset int
	Bytes  int // 0: the whole file
	Reason string
}

// Error returns the place and what is wrong with it, on one line.
func (d *DamageError) Error() string {
	return fmt.Sprintf("%s, offset %d: %s", d.File, d.Offset, d.Reason)
}

// Open reads the log from its beginning, calls apply for each frame in order, and
// makes it ready for appending. A log that does not exist is made.
//
// A torn tail is cut off. Damage, or an error of apply, is returned as *DamageError;
// with Config.Salvage it is skipped and listed by [Log.Damage]. ErrNewer, also of
// apply, and ErrGivenUp of apply are returned in any case.
func Open(c Config, apply func(at Spot, body []byte) error) (*Log, error) {
	l := newLog(c)
	r := &recovery{log: l, salvage: c.Salvage, apply: apply}
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
func Inspect(c Config, apply func(at Spot, body []byte) error) ([]DamageError, error) {
	l := newLog(c)
	r := &recovery{log: l, salvage: true, readOnly: true, apply: apply}
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
	apply    func(at Spot, body []byte) error
	begins   uint32     // number of the first segment that is needed
	used     bool       // there is a reserve, which is made later than the first segment
	foreign  []*segment // salvaged, but not of this log
}

// found reports damage, or notes it when it is to be skipped.
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
	l := r.log
	var previous *segment
	for i, s := range l.segments {
		if err := r.follows(previous, s); err != nil {
			return err
		}
		if err := r.read(s, l.emptyFrom(i+1)); err != nil {
			return err
		}
		previous = s
	}
	return r.complete(previous)
}

// follows checks that a segment is the one that follows another, nil for none.
func (r *recovery) follows(previous, s *segment) error {
	if previous == nil {
		return nil
	}
	if want := max(previous.number+1, previous.next); s.number > want {
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

// complete checks that neither the first segments nor the last are missing. What was
// dropped may still be there: a crash came before that was durable.
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
	if last.next > 0 {
		return r.missing(last.next, last.next)
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

// read applies the frames of a segment. The last one with content may have a torn
// tail; the others were made durable before anything was written behind them.
func (r *recovery) read(s *segment, last bool) error {
	if s.lost {
		return nil
	}
	data, unreadable, err := readBlocks(s.file, s.size)
	if err != nil {
		return err
	}
	t := &tail{segment: s, data: data, last: last}
	for _, u := range unreadable {
		if err := r.found(&DamageError{File: s.name, Offset: u.from, Bytes: u.upto - u.from, Reason: "cannot be read: " + u.err.Error()}); err != nil {
			return err
		}
		s.proven = max(s.proven, u.upto) // it was written, and the disk is to blame
	}
	for at := segmentHead; ; {
		f, ok := s.open(data, at)
		switch {
		case ok:
			if err := r.applyFrame(s, &f); err != nil {
				return err
			}
			at = f.end()
		case at >= t.known(at):
			return r.finish(s, t, at)
		default:
			next := t.next(at)
			if err := r.found(&DamageError{File: s.name, Offset: at, Bytes: next - at, Reason: "no intact frame, where one had been durable"}); err != nil {
				return err
			}
			at = next
		}
	}
}

// finish ends the reading of a segment at the first place that is not known to have
// been durable.
func (r *recovery) finish(s *segment, t *tail, at int) error {
	at = min(at, len(t.data)) // the end may be missing
	s.proven = min(s.proven, at)
	if !t.last && s.next == 0 {
		return r.found(&DamageError{File: s.name, Offset: at, Reason: "it was cut short: nothing says that it ended here"})
	}
	if t.last {
		s.torn = len(t.data) - at
		s.size = at
		s.tail = t.data[s.proven:at]
	}
	return nil
}

// tail is what there is to know about the end of a segment.
type tail struct {
	*segment
	data  []byte
	last  bool
	asked bool
}

// known returns up to where a segment is known to have been durable: as its note, the
// frames that can be read, or a segment behind it say. It is called at the first place
// without an intact frame.
func (t *tail) known(at int) int {
	if t.asked {
		return t.proven
	}
	t.asked = true
	if !t.last {
		t.proven = max(t.proven, len(t.data))
		return t.proven
	}
	t.proven = max(t.proven, segmentHead, t.readNote(t.data))
	for f, ok := t.sealer.next(t.data, at); ok; f, ok = t.sealer.next(t.data, f.end()) {
		t.proven = max(t.proven, f.synced)
	}
	return t.proven
}

// next returns where the next intact frame is, or the end.
func (t *tail) next(at int) int {
	if f, ok := t.sealer.next(t.data, at+1); ok {
		return f.at
	}
	return max(len(t.data), t.proven)
}

// applyFrame does what a frame says.
func (r *recovery) applyFrame(s *segment, f *frame) error {
	s.next, s.rests, s.proven = 0, len(f.body) == 0, max(s.proven, f.synced)
	err := r.applyBody(s, f)
	if err == nil || errors.Is(err, ErrGivenUp) {
		return err
	}
	if errors.Is(err, ErrNewer) {
		return fmt.Errorf("%s, offset %d: %w", s.name, f.at, err)
	}
	return r.found(&DamageError{File: s.name, Offset: f.at, Bytes: f.end() - f.at, Reason: err.Error()})
}

func (r *recovery) applyBody(s *segment, f *frame) error {
	if !f.own {
		if len(f.body) == 0 {
			return nil
		}
		return r.apply(Spot{s.number, uint32(f.at + frameHead)}, f.body)
	}
	kind, number, err := readOwn(f.body)
	if err != nil {
		return err
	}
	switch kind {
	case ownEnd:
		s.next = number
		r.log.highest = max(r.log.highest, number)
	case ownBegins:
		r.begins = max(r.begins, number)
	}
	return nil
}
