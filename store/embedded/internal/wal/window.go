package wal

import "slices"

const (
	chunkSize     = 256 << 10
	windowSize    = 4 << 20 // bytes of written frames that stay in memory
	freeMost      = 4       // chunks that are kept to be used again
	unwrittenMost = 1 << 20 // bytes that may wait to be written
)

// window is the end of the log in memory: all bytes that are not written yet, and those
// written last, so that messages which are consumed soon are not read from a file. It is
// used under Log.mu.
type window struct {
	chunks []*chunk
	free   []*chunk // their memory is used again
}

// chunk is a run of bytes of one segment. Bytes are added to it and do not change until it
// is forgotten, which is after they have been written: so writing them to a
// file needs no lock.
type chunk struct {
	segment *segment
	offset  int // in the segment
	data    []byte
}

func (c *chunk) start() Position { return c.segment.base + Position(c.offset) }
func (c *chunk) end() Position   { return c.start() + Position(len(c.data)) }

// add appends a frame of a segment. A frame is never split over chunks.
func (w *window) add(s *segment, head, body []byte) {
	size := len(head) + len(body)
	last := w.last()
	if last == nil || last.segment != s || cap(last.data)-len(last.data) < size {
		last = w.chunk(size)
		last.segment, last.offset = s, s.size
		w.chunks = append(w.chunks, last)
	}
	last.data = append(append(last.data, head...), body...)
}

// chunk returns an empty chunk with space for a frame.
func (w *window) chunk(size int) *chunk {
	if n := len(w.free); n > 0 && size <= chunkSize {
		c := w.free[n-1]
		w.free = w.free[:n-1]
		return c
	}
	return &chunk{data: make([]byte, 0, max(chunkSize, size))}
}

func (w *window) last() *chunk {
	if len(w.chunks) == 0 {
		return nil
	}
	return w.chunks[len(w.chunks)-1]
}

// unwritten returns how many bytes are behind a position.
func (w *window) unwritten(written Position) int {
	if last := w.last(); last != nil {
		return int(last.end() - written)
	}
	return 0
}

// part is a run of bytes and where in a file they belong.
type part struct {
	segment *segment
	offset  int
	data    []byte
}

func (p part) end() Position { return p.segment.base + Position(p.offset+len(p.data)) }

// after returns the next bytes behind a position; ok is false when there are none.
func (w *window) after(written Position) (p part, ok bool) {
	for _, c := range w.chunks {
		if c.end() > written {
			skip := max(0, int(written-c.start()))
			return part{c.segment, c.offset + skip, c.data[skip:]}, true
		}
	}
	return part{}, false
}

// forget drops the oldest chunks that were written, down to windowSize.
func (w *window) forget(written Position) {
	size := 0
	for _, c := range w.chunks {
		size += cap(c.data)
	}
	n := 0
	for ; n < len(w.chunks)-1 && size > windowSize && w.chunks[n].end() <= written; n++ {
		size -= cap(w.chunks[n].data)
		w.release(w.chunks[n])
	}
	w.chunks = slices.Delete(w.chunks, 0, n)
}

// release keeps the memory of a chunk for another one.
func (w *window) release(c *chunk) {
	if cap(c.data) == chunkSize && len(w.free) < freeMost {
		w.free = append(w.free, &chunk{data: c.data[:0]})
	}
}

// read fills b with the bytes of a segment from an offset on, if they are here.
func (w *window) read(b []byte, segment uint32, offset int) bool {
	for _, c := range w.chunks {
		if c.segment.number == segment && offset >= c.offset && offset+len(b) <= c.offset+len(c.data) {
			copy(b, c.data[offset-c.offset:])
			return true
		}
	}
	return false
}
