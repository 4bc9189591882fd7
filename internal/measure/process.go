package measure

import "runtime"

// Heap returns the bytes that this process has in use on the heap, without garbage.
func Heap() int64 {
	runtime.GC()
	runtime.GC() // again: what the first has only finalised
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
