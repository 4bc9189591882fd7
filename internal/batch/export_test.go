package batch

// Waiting returns how many tickets the line holds.
func (l *Line[T, R]) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}
