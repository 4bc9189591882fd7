package embedded

import (
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/embedded/internal/faultdisk"
)

// A disk on which no file can be made or opened for a while, at each point where a segment
// is begun: calls fail as long as that lasts, and nothing is lost.
func TestPush_FileThatCannotBeMadeIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"create", "allocate", "write", "sync", "rename"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			d := faultdisk.New()
			var failing atomic.Bool
			named := map[string]bool{} // files that were made, and keep their first name here
			d.Before = func(op faultdisk.Op) error {
				switch {
				case !strings.HasSuffix(op.Name, ".new") || named[op.Name]:
				case failing.Load() && (op.Kind == kind || op.Kind == "remove"): // so that what was made of it stays
					return syscall.EMFILE
				case op.Kind == "rename":
					named[op.Name] = true
				}
				return nil
			}
			r := diskRig(t, d)
			failing.Store(true)
			n, failed := 0, 0
			for failed < 3 {
				m := message(n + failed + 1)
				m.Body = make([]byte, 1000)
				_, err := r.Push(t.Context(), r.p, store.PushRequest{Producer: "p", Number: r.next(), Messages: []store.Message{m}})
				switch {
				case errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrFailed):
					failed++
				case err != nil:
					t.Fatal(err)
				default:
					n++
				}
			}
			failing.Store(false)
			r.push(message(1000))
			r.must(r.Close())
			*r = *diskRig(t, d)
			if got := r.stats(); got.Ready != int64(n+1) {
				t.Errorf("%d messages, want %d", got.Ready, n+1)
			}
		})
	}
}
