package consumer

import (
	"context"
	"time"

	"github.com/dueq-dev/dueq/store"
)

const (
	heartbeatPeriod = 10 * time.Second
	heartbeatTTL    = 30 * time.Second
)

// heartbeat says that the consumer is alive.
type heartbeat struct {
	config Config
	outage *outage
}

// Run beats until ctx ends.
func (b *heartbeat) Run(ctx context.Context) {
	ticker := time.NewTicker(heartbeatPeriod)
	defer ticker.Stop()
	for {
		b.beat(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (b *heartbeat) beat(ctx context.Context) {
	call, end := context.WithTimeout(ctx, callTimeout)
	defer end()
	err := b.config.Store.Heartbeat(call, b.config.Queue, store.HeartbeatRequest{Consumer: b.config.Name, TTL: heartbeatTTL.Milliseconds()})
	switch {
	case err == nil:
		b.outage.over("heartbeat")
	case ctx.Err() == nil:
		b.outage.begin("heartbeat", err)
	}
}
