package push

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dueq-dev/dueq"
)

// headerPrefix is what the names of a message's headers begin with in a request.
const headerPrefix = "Dueq-Header-"

// request returns the request for a message.
func (p *poster) request(ctx context.Context, d *dueq.Delivery, now time.Time) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL, bytes.NewReader(d.Body))
	if err != nil {
		return nil, invalid("url", "cannot be requested")
	}
	h := r.Header
	h.Set("Content-Type", p.ContentType)
	h.Set("User-Agent", "dueq")
	h.Set("Dueq-Queue", d.Queue)
	h.Set("Dueq-Id", d.ID)
	h.Set("Dueq-Attempt", strconv.Itoa(d.Attempt))
	h.Set("Dueq-Failures", strconv.Itoa(d.Failures))
	h.Set("Dueq-Max-Attempts", strconv.Itoa(d.MaxAttempts))
	h.Set("Dueq-Token", strconv.FormatInt(d.Token, 10))
	h.Set("Dueq-Due", d.Due.UTC().Format("2006-01-02T15:04:05.000Z07:00"))
	if d.Key != "" {
		h.Set("Dueq-Key", url.PathEscape(d.Key))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
		if strings.EqualFold(name, "Content-Type") {
			h.Set(name, d.Headers[name])
		}
		h.Add(headerPrefix+name, d.Headers[name])
	}
	p.sign(h, d, now)
	return r, nil
}

// sign adds the headers of Standard Webhooks.
func (p *poster) sign(h http.Header, d *dueq.Delivery, now time.Time) {
	// A "." would make it unclear where the id ends in what is signed.
	id, at := strings.ReplaceAll(d.IdempotencyKey(), ".", "_"), strconv.FormatInt(now.Unix(), 10)
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", at)
	signatures := make([]string, len(p.secrets))
	for i, secret := range p.secrets {
		signatures[i] = signature(secret, id, at, d.Body)
	}
	if len(signatures) > 0 {
		h.Set("Webhook-Signature", strings.Join(signatures, " "))
	}
}

// signature returns the signature of a request by one secret.
func signature(secret []byte, id, at string, body []byte) string {
	sum := hmac.New(sha256.New, secret)
	sum.Write([]byte(id + "." + at + "."))
	sum.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(sum.Sum(nil))
}
