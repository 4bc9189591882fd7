//go:build !unix && !windows

package disk

import (
	"io/fs"
	"os"
)

func writableByOthers(fs.FileInfo) bool { return false }
func spaceError(err error) error        { return err }
func syncNames(dir *os.File) error      { return dir.Sync() }
