//go:build !unix

package measure

import (
	"errors"
	"time"
)

// CPU is not known here.
func CPU() (time.Duration, error) { return 0, errors.ErrUnsupported }
