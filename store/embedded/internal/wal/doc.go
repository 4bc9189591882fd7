// Package wal is an append-only log of frames in numbered segment files, with one
// fsync for many callers. It does not interpret the bodies of frames.
//
//	frame.go    one frame: head, checksums
//	own.go      the log's own frames, and the note in a segment's head
//	segment.go  one file: its name and header
//	log.go      appending
//	window.go   the last bytes of the log, in memory
//	commit.go   writing, fsync, and the calls that wait for them
//	space.go    space on the disk, allocated before it is needed
//	reserve.go  space on the disk that is kept for when it is full
//	read.go     reading single pieces, and whole segments for a merge
//	image.go    what a copy of the log consists of
//	identify.go opening: which segments there are, and of which store
//	recover.go  opening: segments are applied one after the other
//	readahead.go opening: which segments are read meanwhile
//	reading.go  opening: the frames of a segment; telling a torn tail from damage
//	begin.go    opening: making durable what was read
//
// # Order
//
// Append puts a frame behind the last one and returns at once. Frames reach the file,
// and the disk, in that order: no frame is written to a segment before everything in
// the segments before it is durable. So after a crash the log is a prefix of what
// was appended, and at least what had been waited for.
//
// # A torn tail and damage
//
// After a power cut the end of the log may be anything: sectors that were written
// but not synced are each kept or lost. Every frame has the position up to which its segment
// was durable when the frame was appended. So an unreadable part is damage if an intact
// frame behind it proves that it had been durable, and a torn tail if none does. A torn tail
// is cut off; damage is an error. An idle log leaves such proof behind its last frame: see
// rest.
//
// The part of the log behind the last proof is written again when the log is opened, because
// reading it does not prove that it is on disk: see secure. Nothing is changed before the
// whole log has been read.
//
// # Missing files
//
// Segments are linked. The last frame of a segment names the next one, whose header has the
// salt of the segment before it. Before a segment is dropped, a frame records with which
// segment the log begins then.
//
// # Locks
//
// growing, then writing, then mu; mu is held for moments only, never during I/O.
package wal
