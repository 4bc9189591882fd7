package mutants

import "slices"

// mistakes are all of them.
func mistakes() []mutant {
	return slices.Concat(
		ofTheDisk(), ofTheLog(), ofTheProofs(), ofOpening(), ofTheSpace(), ofMerges(), ofThePace(), ofTheEngine(), ofTheScripts(),
	)
}

const (
	diskDir     = "store/embedded/internal/disk/"
	walDir      = "store/embedded/internal/wal/"
	embeddedDir = "store/embedded/"
	scriptsDir  = "store/redisstore/scripts/"

	diskPkg     = "./store/embedded/internal/disk"
	walPkg      = "./store/embedded/internal/wal"
	embeddedPkg = "./store/embedded"
	redisPkg    = "./store/redisstore"
)
