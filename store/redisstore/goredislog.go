package redisstore

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/redis/go-redis/v9"
)

var goRedisLogged sync.Once

// logGoRedis sends the lines of go-redis, which has one logger for the whole process, to
// the logger of the first store opened by a URL. They are details of what the store itself reports.
func logGoRedis(l *slog.Logger) {
	goRedisLogged.Do(func() { redis.SetLogger(goRedisLogger{l}) })
}

type goRedisLogger struct{ log *slog.Logger }

func (g goRedisLogger) Printf(ctx context.Context, format string, args ...any) {
	if g.log.Enabled(ctx, slog.LevelDebug) {
		g.log.DebugContext(ctx, "dueq: go-redis", slog.String("line", fmt.Sprintf(format, args...)))
	}
}
