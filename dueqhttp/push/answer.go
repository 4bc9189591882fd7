package push

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dueq-dev/dueq"
)

// Limits of an answer.
const (
	maxRead       = 64 << 10 // bytes; a connection with a longer answer is not used again
	maxShown      = 512      // bytes in a failure text
	minRetryAfter = time.Second
	maxRetryAfter = 24 * time.Hour
)

// verdict returns what an answer means for its message.
func (p *poster) verdict(response *http.Response) error {
	// An answer that ends too early does not change its status.
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxRead))
	status := response.StatusCode
	if status >= http.StatusOK && status < http.StatusMultipleChoices {
		return nil
	}
	text := strings.TrimSpace(p.host + ": " + strconv.Itoa(status) + " " + http.StatusText(status))
	if shown := shorten(body); shown != "" {
		text += ": " + shown
	}
	if wait, ok := retryAfter(response); ok {
		return dueq.Snooze(wait, text)
	}
	if slices.Contains(p.Reject, status) {
		return dueq.Reject(errors.New(text))
	}
	return errors.New(text)
}

// shorten returns the beginning of an answer as one line of text.
func shorten(body []byte) string {
	if len(body) > maxShown {
		body = body[:maxShown]
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "")), " ")
}

// retryAfter returns for how long the endpoint asks not to be called. An instant counts from the
// endpoint's own clock, if it says what that is.
func retryAfter(response *http.Response) (wait time.Duration, asked bool) {
	if status := response.StatusCode; status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return 0, false
	}
	text := response.Header.Get("Retry-After")
	seconds, err := strconv.ParseUint(text, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) {
		wait = time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
		return max(wait, minRetryAfter), true
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	now, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return min(max(until.Sub(now), minRetryAfter), maxRetryAfter), true
}
