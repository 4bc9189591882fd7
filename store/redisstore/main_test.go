package redisstore

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/dueq-dev/dueq/internal/redistest"
)

func TestMain(m *testing.M) {
	code := redistest.Main(m)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}
