package dueq

import (
	"math/rand/v2"
	"time"

	"github.com/dueq-dev/dueq/internal/consumer"
)

// Backoff returns a [ConsumeOptions].Backoff that doubles: after the n-th failure a
// random span up to base * 2^(n-1), and up to most. The random part ("full jitter")
// keeps messages that failed together from coming back together; see
// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/.
// With a base or most of 0 or less, a message is due again at once.
func Backoff(base, most time.Duration) func(*Delivery, error) time.Duration {
	if base <= 0 || most <= 0 {
		return func(*Delivery, error) time.Duration { return 0 }
	}
	return func(d *Delivery, _ error) time.Duration {
		limit := base
		for range d.Failures {
			if limit >= most/2 {
				limit = most
				break
			}
			limit *= 2
		}
		return rand.N(min(limit, most)) + 1
	}
}

// DefaultBackoff is the [ConsumeOptions].Backoff of a consumer that has none: after the
// n-th failure n^4 + 15 s, 4 days at most, give or take a tenth. The first retries come
// after 16 s, 31 s and 96 s; the 24 waits of a message with the default MaxAttempts of 25
// take about 20 days together (docs/RETRIES.md has the table). The random part keeps
// messages that failed together from coming back together.
func DefaultBackoff(d *Delivery, _ error) time.Duration {
	const part = 10
	wait := consumer.DefaultWait(d.Failures + 1)
	return wait - wait/part + rand.N(2*wait/part)
}
