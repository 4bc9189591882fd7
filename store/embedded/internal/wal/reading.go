package wal

const (
	// Findings are passed on in chunks of a number of frames, or bytes of frames, through a
	// queue of bounded length, because a decoded frame may take more memory than the frame.
	chunkFrames = 128
	chunkBytes  = 64 << 10
	chunksAhead = 16
)

// reading reads one segment in a goroutine of its own. The fields of the segment that it
// sets, and begins, may be used when found is closed.
type reading struct {
	*segment
	read      ReadFunc
	mayBeTorn bool
	stopped   <-chan struct{}
	bytes     int    // of the file
	begins    uint32 // the highest number that the log begins with, by its frames
	found     chan []finding

	data  []byte
	asked bool // known was called
	chunk []finding
	full  int // bytes of the frames in the chunk
}

// finding is a frame of the caller's, or damage.
type finding struct {
	at, bytes int
	apply     func() error
	err       error // of reading the frame
	damage    *DamageError
}

func newReading(s *segment, read ReadFunc, mayBeTorn bool, stopped <-chan struct{}) *reading {
	return &reading{
		segment: s, read: read, mayBeTorn: mayBeTorn, stopped: stopped, bytes: s.size, found: make(chan []finding, chunksAhead),
	}
}

// run reads the segment to its end, or until stop is called.
func (r *reading) run() {
	defer close(r.found)
	if !r.lost && r.all() {
		r.hand()
	}
	r.data, r.chunk = nil, nil
}

// add adds a finding to the chunk. It returns false if stop was called.
func (r *reading) add(f finding) bool {
	r.chunk = append(r.chunk, f)
	r.full += f.bytes
	return len(r.chunk) < chunkFrames && r.full < chunkBytes || r.hand()
}

func (r *reading) hand() bool {
	select {
	case r.found <- r.chunk:
		r.chunk, r.full = make([]finding, 0, chunkFrames), 0
		return true
	case <-r.stopped:
		return false
	}
}

func (r *reading) damaged(offset, bytes int, reason string) bool {
	return r.add(finding{damage: &DamageError{File: r.name, Offset: offset, Bytes: bytes, Reason: reason}})
}

// all reads all frames. It returns false if stop was called.
func (r *reading) all() bool {
	data := make([]byte, r.size)
	unreadable := readBlocks(r.file, data)
	r.data = data
	for _, u := range unreadable {
		if !r.damaged(u.from, u.upto-u.from, "cannot be read: "+u.err.Error()) {
			return false
		}
		r.proven = max(r.proven, u.upto) // the disk cannot read what was written, so it is not a torn tail
	}
	for at := segmentHead; ; {
		f, ok := r.open(data, at)
		switch {
		case ok:
			if !r.frame(&f) {
				return false
			}
			at = f.end()
		case at >= r.known(at):
			return r.finish(at)
		default:
			next := r.behind(at)
			if !r.damaged(at, next-at, "no intact frame, where one had been durable") {
				return false
			}
			at = next
		}
	}
}

// finish ends the segment at the first offset that is not known to have been durable.
func (r *reading) finish(at int) bool {
	at = min(at, len(r.data)) // the end may be missing
	r.proven = min(r.proven, at)
	if r.mayBeTorn {
		r.torn, r.size, r.tail = len(r.data)-at, at, r.data[r.proven:at]
		return true
	}
	return r.follower > 0 || r.damaged(at, 0, "it was cut short: nothing says that it ended here")
}

// known returns up to where a segment is known to have been durable, by its note, its intact
// frames or a later segment. It is called at the first offset without an intact frame.
func (r *reading) known(at int) int {
	switch {
	case r.asked:
		return r.proven
	case !r.mayBeTorn:
		r.proven = max(r.proven, len(r.data))
	default:
		r.proven = max(r.proven, segmentHead, r.readNote(r.data))
		for f, ok := r.next(r.data, at); ok; f, ok = r.next(r.data, f.end()) {
			r.proven = max(r.proven, f.synced)
		}
	}
	r.asked = true
	return r.proven
}

// behind returns the offset of the next intact frame behind an offset, or the end.
func (r *reading) behind(at int) int {
	if f, ok := r.next(r.data, at+1); ok {
		return f.at
	}
	return max(len(r.data), r.proven)
}

// frame decodes a frame.
func (r *reading) frame(f *frame) bool {
	r.follower, r.rests, r.proven = 0, len(f.body) == 0, max(r.proven, f.synced)
	found := finding{at: f.at, bytes: f.end() - f.at}
	switch {
	case f.own:
		if found.err = r.readOwn(f); found.err == nil {
			return true
		}
	case len(f.body) == 0:
		return true
	default:
		found.apply, found.err = r.read(Spot{r.number, uint32(f.at + frameHead)}, f.body)
	}
	return r.add(found)
}

// readOwn applies a frame of the log's own.
func (r *reading) readOwn(f *frame) error {
	kind, number, err := readOwn(f.body)
	if err != nil {
		return err
	}
	switch kind {
	case ownEnd:
		r.follower = number
	case ownBegins:
		r.begins = max(r.begins, number)
	}
	return nil
}
