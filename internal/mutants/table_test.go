package mutants

import "slices"

// mistakes are all of them.
func mistakes() []mutant {
	return slices.Concat(
		ofTheDisk(), ofTheLog(), ofTheProofs(), ofOpening(), ofTheSpace(), ofMerges(), ofThePace(), ofTheEngine(), ofTheScripts(), ofHolders(),
		ofRemembering(), ofRememberingInRedis(), ofRetention(), ofRetentionInRedis(), ofTheHistory(), ofTheHistoryInRedis(),
		ofDeleting(), ofDeletingInRedis(), ofSkipping(), ofRecurring(), ofRecurringInRedis(), ofNext(), ofNextInRedis(), ofSchedules(), ofOccurrences(),
		ofSlots(), ofWorkers(), ofSilence(), ofIdleMaps(), ofDuties(), ofTelemetry(), ofTheCommand(), ofPushing(), ofEvents(), ofForecasts(), ofRemoteStores(), ofTheServer(), ofGrowing(), ofTheDashboard(),
		ofTransfers(), ofMigrations(), ofReleases(), ofSucceeding(), ofTheFailures(),
	)
}

const (
	diskDir     = "store/embedded/internal/disk/"
	walDir      = "store/embedded/internal/wal/"
	embeddedDir = "store/embedded/"
	redisDir    = "store/redisstore/"
	scriptsDir  = redisDir + "scripts/"
	seriesDir   = "internal/series/"
	consumerDir = "internal/consumer/"
	idleDir     = "internal/idle/"
	httpDir     = "dueqhttp/"
	pushDir     = "dueqhttp/push/"
	remoteDir   = "store/httpstore/"

	diskPkg     = "./store/embedded/internal/disk"
	walPkg      = "./store/embedded/internal/wal"
	embeddedPkg = "./store/embedded"
	redisPkg    = "./store/redisstore"
	seriesPkg   = "./internal/series"
	consumerPkg = "./internal/consumer"
	idlePkg     = "./internal/idle"
	httpPkg     = "./dueqhttp"
	pushPkg     = "./dueqhttp/push"
	remotePkg   = "./store/httpstore"
	rootPkg     = "."
)
