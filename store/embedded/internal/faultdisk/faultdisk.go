// Package faultdisk is a disk in memory for tests: its power can be cut at any
// moment, it can fill up, fail, write half of what it should, forget what it could not
// sync, and lie.
package faultdisk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/dueq-dev/dueq/store/embedded/internal/disk"
)

// Op is an operation on a disk.
type Op struct {
	Kind string // create, open, rename, remove, dirsync, write, sync, truncate, allocate, close
	Name string
}

// ErrBroken is the error of a disk that was made to fail.
var ErrBroken = fmt.Errorf("input/output error: %w", errors.New("made to fail"))

// Disk is a disk. New returns an empty one.
type Disk struct {
	// Before is called before each operation that changes the disk, and may read the disk.
	// The operation fails with its error. ErrShort lets half of a write happen, and
	// ErrDropped makes a sync lose the data.
	Before func(op Op) error
	// BeforeRead, if set, is called before each read of a file, without locks. The read
	// returns its error.
	BeforeRead func(name string, at int64, size int) error
	// Capacity is how many bytes can be allocated or written; 0 is no limit.
	Capacity int64
	// Lies are the guarantees that the disk breaks.
	Lies Lies

	mu      sync.Mutex
	names   map[string]*inode
	durable map[string]*inode // names after the last Sync
	pending []rename          // since then, in order
}

// Lies of a disk. They stand for mistakes that the log could make.
type Lies struct {
	// LateSync delays each Sync of a file until the next one, as if a call were answered
	// before its fsync.
	LateSync bool
	// KeepRemoved makes Disk.Sync skip removals of names, so that each may be undone by a
	// power cut, as if a merge did not sync the directory.
	KeepRemoved bool
}

// ErrShort in answer to a write: half of it happens.
var ErrShort = errors.New("short write")

// ErrDropped in answer to the sync of a file: the data does not reach the disk, and its
// pages count as clean from then on. It can still be read, but no later sync writes it.
// Linux does that after a failed fsync.
var ErrDropped = fmt.Errorf("dirty pages were dropped: %w", ErrBroken)

// rename is a change of names; from or to can be "".
type rename struct {
	from, to string
	node     *inode
}

type inode struct {
	data      []byte
	synced    []byte
	late      []byte // what a late sync will make durable
	allocated int64
	clean     map[int]bool // pages that no sync writes although they differ from what is on disk
}

const pageSize = 4 << 10

// New returns an empty disk.
func New() *Disk { return &Disk{names: map[string]*inode{}, durable: map[string]*inode{}} }

func (d *Disk) before(kind, name string) error {
	if d.Before == nil {
		return nil
	}
	return d.Before(Op{kind, name})
}

// List returns the names of all files.
func (d *Disk) List() ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.names)), nil
}

// Create makes a file.
func (d *Disk) Create(name string) (disk.File, error) {
	if err := d.before("create", name); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names[name] != nil {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrExist)
	}
	node := &inode{}
	d.change(rename{"", name, node})
	return &file{d, name, node}, nil
}

// Open opens a file.
func (d *Disk) Open(name string) (disk.File, error) {
	if err := d.before("open", name); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	node := d.names[name]
	if node == nil {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return &file{d, name, node}, nil
}

// Rename renames a file.
func (d *Disk) Rename(from, to string) error {
	if err := d.before("rename", from); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.change(rename{from, to, d.names[from]})
	return nil
}

// Remove removes a file.
func (d *Disk) Remove(name string) error {
	if err := d.before("remove", name); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.change(rename{name, "", nil})
	return nil
}

func (d *Disk) change(r rename) {
	d.pending = append(d.pending, r)
	r.apply(d.names)
}

func (r rename) apply(names map[string]*inode) {
	delete(names, r.from)
	if r.to != "" && r.node != nil {
		names[r.to] = r.node
	}
}

// Sync makes the names durable.
func (d *Disk) Sync() error {
	if err := d.before("dirsync", ""); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var left []rename
	for _, r := range d.pending {
		if r.to == "" && d.Lies.KeepRemoved {
			left = append(left, r)
			continue
		}
		r.apply(d.durable)
	}
	d.pending = left
	return nil
}

// used returns the bytes that are taken, under mu.
func (d *Disk) used() int64 {
	var n int64
	for _, node := range d.names {
		n += max(node.allocated, int64(len(node.data)))
	}
	return n
}

func (d *Disk) space(node *inode, size int64) error {
	more := size - max(node.allocated, int64(len(node.data)))
	if d.Capacity > 0 && more > 0 && d.used()+more > d.Capacity {
		return fmt.Errorf("the test's limit: %w", disk.ErrFull)
	}
	return nil
}

type file struct {
	disk *Disk
	name string
	node *inode
}

func (f *file) ReadAt(b []byte, at int64) (int, error) {
	if read := f.disk.BeforeRead; read != nil {
		if err := read(f.name, at, len(b)); err != nil {
			return 0, err
		}
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if at >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(b, f.node.data[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) WriteAt(b []byte, at int64) (int, error) {
	failed := f.disk.before("write", f.name)
	if errors.Is(failed, ErrShort) {
		b = b[:len(b)/2]
	} else if failed != nil {
		return 0, failed
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	end := at + int64(len(b))
	if err := f.disk.space(f.node, end); err != nil {
		return 0, err
	}
	if more := end - int64(len(f.node.data)); more > 0 {
		f.node.data = append(f.node.data, make([]byte, more)...)
	}
	for page := int(at) / pageSize; page*pageSize < int(end); page++ {
		delete(f.node.clean, page)
	}
	return copy(f.node.data[at:], b), failed
}

func (f *file) Rewrite(b []byte, at int64) error {
	if _, err := f.WriteAt(b, at); err != nil {
		return err
	}
	return f.Truncate(at + int64(len(b)))
}

func (f *file) Size() (int64, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return int64(len(f.node.data)), nil
}

func (f *file) Truncate(size int64) error {
	if err := f.disk.before("truncate", f.name); err != nil {
		return err
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.node.data = append(f.node.data, make([]byte, max(0, size-int64(len(f.node.data))))...)[:size:size]
	f.node.allocated = 0
	return nil
}

func (f *file) Allocate(size int64) error {
	if err := f.disk.before("allocate", f.name); err != nil {
		return err
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.space(f.node, size); err != nil {
		return err
	}
	f.node.allocated = max(f.node.allocated, size)
	return nil
}

func (f *file) Sync() error {
	failed := f.disk.before("sync", f.name)
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if errors.Is(failed, ErrDropped) {
		f.node.drop()
	}
	if failed != nil {
		return failed
	}
	now := f.node.flushed()
	if f.disk.Lies.LateSync {
		f.node.synced, f.node.late = f.node.late, now
		return nil
	}
	f.node.synced = now
	return nil
}

// flushed returns what is on disk after a sync.
func (n *inode) flushed() []byte {
	now := slices.Clone(n.data)
	for page := range n.clean {
		from := min(page*pageSize, len(now))
		lost := now[from:min(from+pageSize, len(now))]
		clear(lost)
		copy(lost, n.synced[min(from, len(n.synced)):])
	}
	return now
}

// drop makes every dirty page clean.
func (n *inode) drop() {
	if n.clean == nil {
		n.clean = map[int]bool{}
	}
	for at := 0; at < len(n.data); at += pageSize {
		upto := min(at+pageSize, len(n.data))
		if upto > len(n.synced) || string(n.data[at:upto]) != string(n.synced[at:upto]) {
			n.clean[at/pageSize] = true
		}
	}
}

func (f *file) Close() error { return f.disk.before("close", f.name) }

// Unsynced is what a power cut does to writes that were not synced.
type Unsynced int

// The kinds.
const (
	Lost   Unsynced = iota // none of it is on disk
	Kept                   // it can be read, but is still not synced: the process was killed
	Random                 // each sector and each change of a name is kept or lost at random
)

// Cut returns the disk as it is found after the power was cut, or the process was
// killed, now.
func (d *Disk) Cut(unsynced Unsynced, rng *rand.Rand) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	if unsynced == Kept {
		return d.copied()
	}
	keep := func() bool { return unsynced == Random && rng.IntN(2) == 0 }
	names := maps.Clone(d.durable)
	for _, r := range d.pending {
		if keep() {
			r.apply(names)
		}
	}
	after := New()
	for _, name := range slices.Sorted(maps.Keys(names)) { // so that a seed gives the same each time
		node := names[name]
		data := node.cut(keep, sectorSizes[rng.IntN(len(sectorSizes))])
		after.names[name] = &inode{data: data, synced: slices.Clone(data)}
	}
	after.durable = maps.Clone(after.names)
	return after
}

// copied returns a copy of the disk, including what is not durable.
func (d *Disk) copied() *Disk {
	nodes := map[*inode]*inode{nil: nil}
	same := func(n *inode) *inode {
		if nodes[n] == nil && n != nil {
			nodes[n] = &inode{slices.Clone(n.data), slices.Clone(n.synced), slices.Clone(n.late), n.allocated, maps.Clone(n.clean)}
		}
		return nodes[n]
	}
	after := New()
	for name, node := range d.names {
		after.names[name] = same(node)
	}
	for name, node := range d.durable {
		after.durable[name] = same(node)
	}
	for _, r := range d.pending {
		after.pending = append(after.pending, rename{r.from, r.to, same(r.node)})
	}
	return after
}

// sectorSizes in bytes. No real disk has such small sectors, but they tear more frames.
var sectorSizes = []int{512, 32}

// cut returns the content with every sector that was not synced kept or lost.
func (n *inode) cut(keep func() bool, sector int) []byte {
	data := slices.Clone(n.synced)
	for at := 0; at < len(n.data); at += sector {
		now := n.data[at:min(at+sector, len(n.data))]
		if at+len(now) <= len(n.synced) && string(n.synced[at:at+len(now)]) == string(now) || !keep() {
			continue
		}
		if grown := at + len(now) - len(data); grown > 0 {
			data = append(data, make([]byte, grown)...)
		}
		copy(data[at:], now)
	}
	if len(n.data) < len(n.synced) && keep() { // it was truncated
		data = data[:len(n.data)]
	}
	return data
}

// Bytes returns the content of a file, which the test may change.
func (d *Disk) Bytes(name string) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.names[name].data
}

// Put gives a file a content, on disk.
func (d *Disk) Put(name string, data []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	node := &inode{data: data, synced: slices.Clone(data)}
	d.names[name], d.durable[name] = node, node
}

// SetCapacity changes Capacity while the disk is in use.
func (d *Disk) SetCapacity(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Capacity = n
}

// Used returns the bytes that are taken.
func (d *Disk) Used() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used()
}
