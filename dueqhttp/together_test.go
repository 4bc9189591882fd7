package dueqhttp

import (
	"strings"
	"testing"
)

func TestEach_PanicIsThatOfTheCaller(t *testing.T) {
	t.Parallel()
	done := make([]bool, 3)
	func() {
		defer func() {
			if text, _ := recover().(string); !strings.HasPrefix(text, "a fault, in another goroutine:\n") || !strings.Contains(text, "together_test.go") {
				t.Errorf("panicked with %q, want the fault with its stack", text)
			}
		}()
		each(3, func(i int) {
			done[i] = true
			if i == 1 {
				panic("a fault")
			}
		})
		t.Error("there was no panic")
	}()
	for i, is := range done {
		if !is {
			t.Errorf("index %d was left out", i)
		}
	}
}
