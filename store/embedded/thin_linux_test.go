package embedded

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/dueq-dev/dueq/store"
)

// thin is an ext4 file system on a device that may have less space than it promises: a loop
// device on a file with holes, in a small file system in memory. A write for which there is
// no space fails when the kernel does it, in the background or in an fsync.
type thin struct {
	*testing.T
	backing string // directory of the file
	mounted string
}

const (
	thinPromised = 64 << 20
	thinSpace    = 72 << 20
)

func mountThin(t *testing.T) *thin {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: a loop device needs root; writes that fail are tested on the fault disk only")
	}
	d := &thin{t, t.TempDir(), t.TempDir()}
	d.mount("tmpfs", d.backing, "tmpfs", fmt.Sprint("size=", thinSpace))
	image := filepath.Join(d.backing, "image")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, thinPromised); err != nil {
		t.Fatal(err)
	}
	d.run("mkfs.ext4", "-q", "-F", "-b", "4096", "-J", "size=4", "-E", "lazy_itable_init=0,lazy_journal_init=0", image)
	// All of the file gets its space, and what the file system does not use gives it back: so
	// its journal and its tables have theirs, and only data finds none.
	d.run("fallocate", "--length", fmt.Sprint(thinPromised), image)
	device := strings.TrimSpace(d.run("losetup", "--find", "--show", image))
	t.Cleanup(func() {
		if out, err := exec.Command("losetup", "--detach", device).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	d.mount(device, d.mounted, "ext4", "errors=continue")
	d.run("fstrim", d.mounted)
	return d
}

func (d *thin) mount(source, target, kind, options string) {
	d.Helper()
	if err := syscall.Mount(source, target, kind, 0, options); err != nil {
		d.Skipf("SKIPPED: %s cannot be mounted, so writes that fail are tested on the fault disk only: %v", kind, err)
	}
	d.Cleanup(func() {
		if err := syscall.Unmount(target, 0); err != nil {
			d.Errorf("unmount %s: %v", target, err)
		}
	})
}

func (d *thin) run(name string, args ...string) string {
	d.Helper()
	out, err := exec.CommandContext(d.Context(), name, args...).CombinedOutput()
	if err != nil {
		d.Skipf("SKIPPED: no loop device can be made, so writes that fail are tested on the fault disk only: %s: %v: %s", name, err, out)
	}
	return string(out)
}

// starve takes all the space that the device still has, until feed is called. A page at a
// time: a loop device for which the last part of a write finds no space reports no error.
func (d *thin) starve() (feed func()) {
	d.Helper()
	f, err := os.Create(filepath.Join(d.backing, "filler"))
	if err != nil {
		d.Fatal(err)
	}
	for page := make([]byte, os.Getpagesize()); err == nil; {
		_, err = f.Write(page)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		d.Fatalf("filled with %v", err)
	}
	return func() {
		if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
			d.Fatal(err)
		}
	}
}

// forget drops what the kernel has of the files of a directory in memory, but for what it
// has yet to write.
func (d *thin) forget(dir string) {
	d.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(files) == 0 {
		d.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			d.Fatal(err)
		}
		err = errors.Join(unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED), f.Close())
		if err != nil {
			d.Fatal(err)
		}
	}
}

// The device fails writes. The store stops; what it acknowledged before is there when it is
// opened again, and so is what it acknowledges then, also when the kernel has forgotten what
// it could not write.
func TestThinDevice_FailedWritesLoseNothing(t *testing.T) {
	t.Parallel()
	d := mountThin(t)
	dir := filepath.Join(d.mounted, "store")
	r := realRig(t, dir)
	large := func(n int) store.Message {
		m := message(n)
		m.Body = make([]byte, 200_000)
		return m
	}
	push := func(n int) error {
		_, err := r.Push(t.Context(), r.p, store.PushRequest{Producer: "p", Number: r.next(), Messages: []store.Message{large(n)}})
		return err
	}
	n := 1
	for ; n <= 2; n++ { // the first segment has space for some more
		r.must(push(n))
	}
	feed := d.starve()
	var err error
	for ; err == nil; n++ { // into what was allocated before
		err = push(n)
	}
	if !errors.Is(err, store.ErrFailed) {
		t.Fatalf("push %d: %v, want ErrFailed", n-1, err)
	}
	t.Logf("push %d: %v", n-1, err)
	feed()
	_ = r.Close()
	number := r.number
	r = realRig(t, dir)
	r.number = number
	r.must(push(n - 1)) // again: it may have been stored
	_ = r.Close()
	d.forget(dir)
	r = realRig(t, dir)
	r.number = number + 100
	if got := r.drain(10); got != n-1 {
		t.Errorf("%d of %d were delivered", got, n-1)
	}
	r.must(r.Close())
}
