package wal

import (
	"bytes"
	"context"
	"io"

	"github.com/dueq-dev/dueq/store/embedded/internal/disk"
)

// Image is a segment as a copy of the log has it.
type Image struct {
	Name string
	// Sealed means that nothing is written to the segment any more, neither by this log nor
	// by one that is opened on the copy: the two may share a file.
	Sealed bool
	Size   int64

	head []byte
	file disk.File
}

// Reader returns the bytes of the image.
func (i *Image) Reader() io.Reader {
	at := int64(len(i.head))
	return io.MultiReader(bytes.NewReader(i.head), io.NewSectionReader(i.file, at, i.Size-at))
}

// Hold keeps Drop from removing segments until release is called.
func (l *Log) Hold() (release func()) {
	l.dropping.Lock()
	return l.dropping.Unlock
}

// Images returns the parts of a copy of the log, which has everything that was appended and
// durable before the call, and perhaps later frames. The caller must have called Hold.
func (l *Log) Images(ctx context.Context) ([]Image, error) {
	l.mu.Lock()
	segments := l.segments
	l.mu.Unlock()
	images := make([]Image, len(segments))
	for i, s := range segments {
		images[i] = Image{Name: segmentName(s.number), file: s.file}
	}
	// A head can say up to where its segment is on disk: it is read before that is decided.
	last := &images[len(images)-1]
	last.head = make([]byte, segmentHead)
	if _, err := last.file.ReadAt(last.head, 0); err != nil {
		return nil, err
	}
	if err := l.Synced(ctx, l.End()); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, s := range segments {
		images[i].Size = min(int64(s.size), int64(l.synced-s.base))
	}
	if s := segments[len(segments)-1]; s != l.active() { // the segment that its last frame names is not in the copy
		end := int64(s.size - frameHead - ownBody)
		images[len(images)-1].Size = min(images[len(images)-1].Size, end)
	}
	// A log opened on the copy appends behind its last frame.
	for i := len(images) - 2; i >= 0 && images[i+1].Size > segmentHead; i-- {
		images[i].Sealed = true
	}
	return images, nil
}
