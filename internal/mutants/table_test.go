package mutants

import "slices"

// mistakes are all of them.
func mistakes() []mutant {
	return slices.Concat(ofTheDisk(), ofTheLog(), ofMerges(), ofTheEngine(), ofTheScripts())
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

// ofTheDisk are mistakes in what reaches the operating system.
func ofTheDisk() []mutant {
	const kernel = "TestDir_SyncsReachTheKernel"
	return []mutant{
		{
			"files are not synced", diskDir + "space_linux.go",
			"return control(f, syscall.Fdatasync)", "return nil",
			diskPkg, kernel,
		},
		{
			"names are not synced", diskDir + "system_unix.go",
			"error { return dir.Sync() }", "error { return nil }",
			diskPkg, kernel,
		},
		{
			"the parent of a new directory is not synced", diskDir + "dir.go",
			"if err := SyncPath(filepath.Dir(name)); err != nil {", "if err := error(nil); name == \"\" || err != nil {",
			diskPkg, kernel,
		},
		{
			"a closed directory keeps its lock", diskDir + "dir.go",
			"errors.Join(unlockFile(d.lock), d.lock.Close()", "errors.Join(d.lock.Close()",
			diskPkg, "TestDirClose",
		},
	}
}

// ofTheLog are mistakes in what is made durable, and when.
func ofTheLog() []mutant {
	const cuts, unsynced = "TestNoPowerCutBreaksAPromise", "TestPowerCut_UnsyncedLogLeavesItsBeginning"
	return []mutant{
		{
			"a torn tail is not cut off", walDir + "begin.go",
			"if err := s.file.Truncate(int64(s.size)); err != nil {", "if err := error(nil); err != nil {",
			walPkg, "TestOpen_TornTailDoesNotComeBack",
		},
		{
			"what was read is not synced", walDir + "begin.go",
			"return s.file.Sync()", "return nil",
			walPkg, "TestOpen_SyncsWhatItRead",
		},
		{
			"names of an opened log are not synced", walDir + "begin.go",
			"return l.disk.Sync()\n", "return nil\n",
			embeddedPkg, cuts,
		},
		{
			"a full segment is not synced when calls do not wait for that", walDir + "commit.go",
			"func (l *Log) leave(s *segment) error {\n", "func (l *Log) leave(s *segment) error {\n\tif l.neverSync || l.syncEvery > 0 {\n\t\treturn nil\n\t}\n",
			walPkg, unsynced,
		},
		{
			"a full segment is not synced", walDir + "commit.go",
			"func (l *Log) leave(s *segment) error {\n\tif err := s.file.Sync(); err != nil {",
			"func (l *Log) leave(s *segment) error {\n\tif err := error(nil); err != nil {",
			embeddedPkg, cuts,
		},
		{
			"what is written counts as synced", walDir + "commit.go",
			"case l.synced >= upto:", "case l.written >= upto:",
			walPkg, "TestSynced_WhatIsWrittenAlready",
		},
		{
			"the committer does not sync", walDir + "commit.go",
			"if err := s.file.Sync(); err != nil {\n\t\treturn l.fail(err)", "if err := error(nil); s == nil || err != nil {\n\t\treturn l.fail(err)",
			walPkg, "TestSynced_WhatIsWrittenAlready",
		},
		{
			"bytes in memory are dropped before they are written", walDir + "window.go",
			"size > windowSize && w.chunks[n].end() <= written", "size > windowSize",
			walPkg, "TestWindow_KeepsWhatIsNotWritten",
		},
		{
			"names are not synced when a segment is begun", walDir + "room.go",
			"if err := l.disk.Sync(); err != nil {", "if err := error(nil); err != nil {",
			embeddedPkg, cuts,
		},
		{
			"a dropped segment is not gone for good", walDir + "read.go",
			"err = l.disk.Sync()", "err = error(nil)",
			embeddedPkg, "TestMistakesAreFound|" + cuts,
		},
		{
			"damaged segments are removed", walDir + "read.go",
			"return l.disk.Rename(name, name+damagedSuffix)", "return l.disk.Remove(name)",
			embeddedPkg, "TestRepair_PutsDamagedFilesAside",
		},
		{
			"bodies have no checksum", walDir + "log.go",
			"l.sum = checksum", "l.sum = func(uint32, []byte) uint32 { return 0 }",
			embeddedPkg, "TestEveryFlippedBitIsFound",
		},
	}
}

// ofMerges are mistakes in what is written down again.
func ofMerges() []mutant {
	return []mutant{
		{
			"a merge drops a segment before what replaces it is durable", walDir + "read.go",
			"if err := l.Synced(ctx, end); err != nil {", "if err := l.Kept(ctx, end); err != nil {",
			embeddedPkg, "TestMerge_UnsyncedStoreKeepsWhatWasDurable",
		},
		{
			"a merge takes any message with the id for the one it read", embeddedDir + "merge.go",
			"e != nil && e.stored == put.entry.stored", "e != nil",
			embeddedPkg, "TestMerge_OldBodyOfAnIDDoesNotComeBack",
		},
		{
			"a merge forgets what a partition knows besides its messages", embeddedDir + "merge.go",
			"if p.journal.home > oldest {", "if p.journal.home >= oldest {",
			embeddedPkg, "TestNoPowerCutBreaksAPromise",
		},
		{
			"a message that is written again is counted twice", embeddedDir + "journal.go",
			"\t\tj.live.drop(p.e)\n\t\tp.e.stored", "\t\tp.e.stored",
			embeddedPkg, "TestADrainedStoreIsSmall|TestMerge_FullDisk",
		},
	}
}

// ofTheEngine are mistakes in the steps of the state machine.
func ofTheEngine() []mutant {
	return []mutant{
		{
			"a call that changed nothing does not wait for what came before", embeddedDir + "journal.go",
			"\tj.reset()\n\treturn j.end, matters", "\tj.reset()\n\tif !matters {\n\t\treturn 0, false\n\t}\n\treturn j.end, matters",
			embeddedPkg, "TestPush_RepeatedWaitsUntilTheFirstIsDurable",
		},
	}
}

// ofTheScripts are mistakes in the scripts of the Redis store.
func ofTheScripts() []mutant {
	const suite = "TestConformance|TestPromise4"
	return []mutant{
		{
			"a push is not remembered", scriptsDir + "push.lua",
			"  remember('p:' .. ARGV[3], ARGV[4], answer)\n", "",
			redisPkg, suite,
		},
		{
			"a claim is not remembered", scriptsDir + "claim.lua",
			"  remember('c:' .. ARGV[1], ARGV[2], ARGV[5] == '1' and '' or where)\n", "",
			redisPkg, suite,
		},
		{
			"an empty claim that may have been tried before is not remembered", scriptsDir + "claim.lua",
			"(handed > 0 or ARGV[6] == '1')", "handed > 0",
			redisPkg, suite,
		},
		{
			"leases that ran out are not counted as failures", scriptsDir + "lib/sweep.lua",
			"failures, doubt = failures + 1, 'c'", "doubt = 'c'",
			redisPkg, suite,
		},
		{
			"leases that ran out are not counted", scriptsDir + "lib/sweep.lua",
			"count('lease_lost', n)", "",
			redisPkg, suite,
		},
		{
			"a message of a lease that ran out lives on though it was cancelled", scriptsDir + "lib/sweep.lua",
			"if stop[i] then", "if false then",
			redisPkg, suite,
		},
		{
			"older calls are answered like new ones", scriptsDir + "lib/calls.lua",
			"return nil, last and older(number, last)", "return nil, false",
			redisPkg, suite,
		},
	}
}
