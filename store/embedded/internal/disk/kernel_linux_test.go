package disk

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refusedCall names the system call that the kernel refuses a process which a test
// starts.
const refusedCall = "DUEQ_TEST_REFUSED_CALL"

// What is said to be durable must reach the kernel. A counter in this process could
// only count the calls of its own functions, so a process is started that the kernel
// refuses a call: what needs that call must then fail, and nothing else.
func TestDir_SyncsReachTheKernel(t *testing.T) {
	t.Parallel()
	steps := []struct {
		name string
		call string // that it cannot do without
		do   func(d *Dir, f File) error
	}{
		{"sync of a file", "fdatasync", func(_ *Dir, f File) error { return f.Sync() }},
		{"sync of the names", "fsync", func(d *Dir, _ File) error { return d.Sync() }},
		{"a directory that is made", "fsync", func(d *Dir, _ File) error { return makeDir(filepath.Join(d.Name(), "new", "store")) }},
	}
	if call := os.Getenv(refusedCall); call != "" {
		d, f := opened(t, ".")
		refuse(t, call)
		for _, step := range steps {
			err := step.do(d, f)
			_, _ = fmt.Fprintf(os.Stdout, "%s: %t\n", step.name, errors.Is(err, unix.EIO))
		}
		return
	}
	for _, call := range []string{"fdatasync", "fsync"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDir_SyncsReachTheKernel$", "-test.timeout=60s")
			cmd.Env = append(os.Environ(), refusedCall+"="+call)
			cmd.Dir = t.TempDir()
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v:\n%s", err, out)
			}
			for _, step := range steps {
				if want := fmt.Sprintf("%s: %t\n", step.name, step.call == call); !bytes.Contains(out, []byte(want)) {
					t.Errorf("want %q in:\n%s", want, out)
				}
			}
		})
	}
}

// opened returns a directory and a file in it with something to sync.
func opened(t *testing.T, path string) (*Dir, File) {
	t.Helper()
	d, err := OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.Create("file")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("text"), 0); err != nil {
		t.Fatal(err)
	}
	return d, f
}

// refuse makes the kernel answer EIO to a call of this process, until it ends. See
// seccomp(2).
func refuse(t *testing.T, call string) {
	t.Helper()
	number := map[string]uint32{"fsync": unix.SYS_FSYNC, "fdatasync": unix.SYS_FDATASYNC}[call]
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EIO)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	const allThreads = unix.SECCOMP_FILTER_FLAG_TSYNC
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, allThreads, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		t.Fatal(errno)
	}
}
