package consumer

import "time"

const (
	firstWait   = 15 * time.Second
	longestWait = 4 * 24 * time.Hour
)

// DefaultWait returns how long a message waits after its n-th failure, from 1, when
// nobody chose otherwise, without the random part: n^4 + 15 s, 4 days at most.
func DefaultWait(n int) time.Duration {
	const most = 25 // 25^4 s are more than 4 days, and no power below overflows
	n = min(max(n, 1), most)
	return min(time.Duration(n*n*n*n)*time.Second+firstWait, longestWait)
}
