package dueq

import (
	"math/rand/v2"
	"time"
)

// Backoff returns a [ConsumeOptions].Backoff that doubles: after the n-th failure a
// random span up to base * 2^(n-1), and up to most. The random part ("full jitter")
// keeps messages that failed together from coming back together; see
// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/.
func Backoff(base, most time.Duration) func(failures int) time.Duration {
	if base <= 0 || most <= 0 {
		return func(int) time.Duration { return 0 }
	}
	return func(failures int) time.Duration {
		limit := base
		for range failures - 1 {
			if limit >= most/2 {
				limit = most
				break
			}
			limit *= 2
		}
		return rand.N(min(limit, most)) + 1
	}
}
