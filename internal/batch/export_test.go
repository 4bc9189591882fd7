package batch

// Held returns how many tickets the line holds.
func (l *Line[T, R]) Held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}
