package embedded

import (
	"math/rand/v2"
	"sync"
	"syscall"

	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// mishapKind is what can happen to a disk.
type mishapKind int

const (
	crash           mishapKind = iota // the power is cut, or the process killed
	droppedSync                       // a sync fails, and what it should have written never gets to the disk
	failedOp                          // an operation fails
	shortWrite                        // half of a write happens
	noDescriptors                     // files can neither be made nor opened for a while
	unreadablePages                   // files cannot be read for a while
	mishapKinds     = iota            // how many there are
)

// mishap happens to a disk once, some operations from now. After a crash nothing works any
// more. The zero mishap never happens.
type mishap struct {
	disk     *faultdisk.Disk
	rng      *rand.Rand
	kind     mishapKind
	unsynced faultdisk.Unsynced // after a crash
	onCut    func()             // called at the moment of a crash

	mu       sync.Mutex
	in       int  // operations until it happens; 0: never
	lasts    int  // operations that fail
	paused   bool // reads succeed
	happened bool
	left     *faultdisk.Disk // by a crash
}

// newMishap makes something happen to a disk, within some number of operations.
func newMishap(d *faultdisk.Disk, rng *rand.Rand, kind mishapKind, within int) *mishap {
	m := &mishap{disk: d, rng: rand.New(rand.NewPCG(rng.Uint64(), 7)), kind: kind, in: 1 + rng.IntN(within), lasts: 1, onCut: func() {}}
	switch kind {
	case crash:
		m.unsynced = []faultdisk.Unsynced{faultdisk.Lost, faultdisk.Kept, faultdisk.Random}[rng.IntN(3)]
	case noDescriptors, unreadablePages:
		m.lasts += rng.IntN(4)
	case droppedSync, failedOp, shortWrite:
	}
	d.Before, d.BeforeRead = m.before, m.beforeRead
	return m
}

// concerns reports whether an operation is one that the mishap can happen to.
func (m *mishap) concerns(op faultdisk.Op) bool {
	switch m.kind {
	case droppedSync:
		return op.Kind == "sync"
	case shortWrite:
		return op.Kind == "write"
	case noDescriptors:
		return op.Kind == "create" || op.Kind == "open"
	case unreadablePages:
		return false
	case crash, failedOp:
	}
	return true
}

func (m *mishap) before(op faultdisk.Op) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.left != nil:
		return faultdisk.ErrBroken // the machine is off
	case !m.concerns(op) || !m.due():
		return nil
	}
	switch m.kind {
	case crash:
		m.onCut()
		m.left = m.disk.Cut(m.unsynced, m.rng)
	case droppedSync:
		return faultdisk.ErrDropped
	case shortWrite:
		return faultdisk.ErrShort
	case noDescriptors:
		return syscall.EMFILE
	case failedOp, unreadablePages:
	}
	return faultdisk.ErrBroken
}

func (m *mishap) beforeRead(string, int64, int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kind == unreadablePages && !m.paused && m.due() {
		return syscall.EIO
	}
	return nil
}

// due counts the operations down, and reports whether the mishap is to happen now.
func (m *mishap) due() bool {
	if m.in != 1 {
		m.in = max(0, m.in-1)
		return false
	}
	m.happened = true
	if m.lasts--; m.lasts == 0 {
		m.in = 0
	}
	return true
}

// pause runs do while files can be read.
func (m *mishap) pause(do func()) {
	if m == nil {
		do()
		return
	}
	m.setPaused(true)
	defer m.setPaused(false)
	do()
}

func (m *mishap) setPaused(paused bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.paused = paused
}

// cancel keeps the mishap from happening.
func (m *mishap) cancel() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.in = 0
}

// over reports whether the mishap has happened and lasts no longer.
func (m *mishap) over() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.happened && (m.in == 0 || m.left != nil)
}

// did reports whether the mishap has begun.
func (m *mishap) did() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.happened
}

// crashed returns what a crash has left; nil if there was none.
func (m *mishap) crashed() *faultdisk.Disk {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.left
}
