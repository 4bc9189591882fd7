//go:build !unix

package disk

import (
	"errors"
	"os"
)

// flock fails: a store that two processes can open is worse than none.
func flock(*os.File) error {
	return errors.New("directories cannot be locked on this system: " + errors.ErrUnsupported.Error())
}

func spaceError(err error) error     { return err }
func allocate(*os.File, int64) error { return nil }
func dataSync(f *os.File) error      { return f.Sync() }
