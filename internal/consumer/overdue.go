package consumer

import (
	"sync"
	"time"
)

// lendAfter is how long a call may take before it is late. A server that is there
// answers much sooner, also under load.
const lendAfter = 100 * time.Millisecond

// overdue watches calls, of which one is under way at a time, and notes when one is
// late: it has taken lendAfter, or a try of it has failed. Its timer is used again and
// again, because calls are many and late ones are few.
type overdue struct {
	note func(late bool)

	mu    sync.Mutex
	timer *time.Timer
	busy  bool
	late  bool
}

// begin is called before a call, end after it.
func (o *overdue) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.busy = true
	if o.timer == nil {
		o.timer = time.AfterFunc(lendAfter, o.declare)
		return
	}
	o.timer.Reset(lendAfter)
}

func (o *overdue) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.busy = false
	o.timer.Stop()
	if o.late {
		o.late = false
		o.note(false)
	}
}

// declare notes that the call under way is late.
func (o *overdue) declare() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.busy && !o.late {
		o.late = true
		o.note(true)
	}
}
