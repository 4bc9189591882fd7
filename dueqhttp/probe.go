package dueqhttp

import (
	"context"
	_ "embed"
	"errors"
	"net/http"
	"time"

	"github.com/dueq-dev/dueq"
)

//go:embed openapi.json
var description []byte

// serveDescription returns the description of the API.
func serveDescription(c *call) error {
	return c.write(http.StatusOK, "application/openapi+json", description)
}

// serveLive answers that the process runs.
func serveLive(c *call) error { return c.empty() }

// readyTimeout bounds how long the store may take to answer before the server is not ready.
const readyTimeout = 2 * time.Second

// serveReady answers whether requests can be served: the server is not stopping, and the store
// answers.
func serveReady(c *call) error {
	if c.Stopping.Err() != nil {
		return &statusError{http.StatusServiceUnavailable, "the server is stopping"}
	}
	ctx, end := context.WithTimeout(c.r.Context(), readyTimeout)
	defer end()
	// Any queue will do, also one that does not exist: the store has answered.
	if _, err := c.client.Queue("ready").Settings(ctx); err != nil && !errors.Is(err, dueq.ErrNotFound) {
		return err
	}
	return c.empty()
}
