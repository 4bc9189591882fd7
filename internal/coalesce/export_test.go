package coalesce

// Len returns the length of the list of entries that wait, those that their callers have left included.
func (c *Coalescer[T, R]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)
}
