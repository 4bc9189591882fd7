package dueqhttp

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// each calls do for all indexes below n at the same time, and waits. The library combines calls
// that are made at the same time.
func each(n int, do func(i int)) {
	if n == 1 {
		do(0)
		return
	}
	var doing sync.WaitGroup
	var caught panics
	for i := range n {
		doing.Go(func() {
			defer caught.catch()
			do(i)
		})
	}
	doing.Wait()
	caught.raise()
}

// panics keeps a panic of one of the goroutines of a request, which would end the process, until the
// goroutine of the request has it.
type panics struct{ first atomic.Pointer[string] }

// catch is deferred by a goroutine.
func (p *panics) catch() {
	if value := recover(); value != nil {
		text := fmt.Sprintf("%v, in another goroutine:\n%s", value, debug.Stack())
		p.first.CompareAndSwap(nil, &text)
	}
}

// raise panics if a goroutine has. It is called when all of them have returned.
func (p *panics) raise() {
	if text := p.first.Load(); text != nil {
		panic(*text)
	}
}
