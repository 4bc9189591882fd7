package mutants

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
	const cuts, unsynced = "TestCrash_PowerCutAnywhereBreaksNoPromise", "TestPowerCut_UnsyncedLogLeavesItsBeginning"
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
			"if err := l.disk.Sync(); err != nil {", "if err := error(nil); err != nil {",
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
			"names are not synced when a segment is begun", walDir + "space.go",
			"if err := l.disk.Sync(); err != nil {", "if err := error(nil); err != nil {",
			embeddedPkg, cuts,
		},
		{
			"a dropped segment is not gone for good", walDir + "read.go",
			"err = l.disk.Sync()", "err = error(nil)",
			embeddedPkg, "TestCrash_MistakesAreFound|" + cuts,
		},
		{
			"damaged segments are removed", walDir + "read.go",
			"return l.disk.Rename(name, name+damagedSuffix)", "return l.disk.Remove(name)",
			embeddedPkg, "TestRepair_PutsDamagedFilesAside",
		},
		{
			"bodies have no checksum", walDir + "log.go",
			"l.sum = checksum", "l.sum = func(uint32, []byte) uint32 { return 0 }",
			embeddedPkg, "TestOpen_EveryFlippedBitIsFound",
		},
	}
}

// ofTheProofs are mistakes in what distinguishes damage from a crash, and one log from another.
func ofTheProofs() []mutant {
	const apart = "TestOpen_SegmentsThatDoNotBelongTogether"
	return []mutant{
		{
			"a segment of a copy that went on is accepted", walDir + "recover.go",
			"s.before == previous.identity.salt {", "s.before != [saltSize]byte{} {",
			walPkg, "TestOpen_SegmentOfADivergedCopy",
		},
		{
			"the copy of a header is not used", walDir + "identify.go",
			`reason, first = "the header is damaged, its copy is not", second`, `reason = "the header is damaged, its copy is not"`,
			walPkg, apart,
		},
		{
			"the copy of a header is not compared", walDir + "identify.go",
			"case err2 != nil || first != second:", "case first != second && err2 == nil:",
			walPkg, apart,
		},
		{
			"segments of another store are read", walDir + "identify.go",
			"if s.lost || s.store == l.store {", "if s != nil {",
			walPkg, apart,
		},
		{
			"a dropped segment is not known to be", walDir + "reading.go",
			"r.begins = max(r.begins, number)", "r.begins = max(r.begins, 1)",
			walPkg, "TestDrop_IsNotTakenForLoss",
		},
		{
			"a drop does not say where the log begins", walDir + "read.go",
			"end := l.appendOwn(ownBegins, l.segments[1].number)", "end := l.active().end()",
			walPkg, "TestDrop_IsNotTakenForLoss",
		},
		{
			"a segment needs no end", walDir + "reading.go",
			"return r.follower > 0 || r.damaged(", "return r.follower >= 0 || r.damaged(",
			walPkg, apart,
		},
		{
			"the last segment may be missing", walDir + "recover.go",
			"if last.follower > 0 {", "if last.follower > 0 && last.lost {",
			walPkg, apart,
		},
		{
			"a head has no checksum of its own", walDir + "frame.go",
			" || word>>checkAt != s.check(at, word)", "",
			walPkg, "TestOpen_FakeHeadsInATornBodyAreNotFollowed",
		},
		{
			"the salt is in no checksum", walDir + "frame.go",
			"copy(b[:], s.salt[:])", "_ = s.salt",
			walPkg, "TestOpen_FramesOfAnotherSegmentAreDamage",
		},
		{
			"the offset is in no checksum", walDir + "frame.go",
			"binary.BigEndian.PutUint32(b[saltSize:], uint32(at))", "_ = at",
			walPkg, "TestOpen_FrameInABodyIsNotAFrame",
		},
		{
			"a log that rests leaves no note", walDir + "own.go",
			"_, err := s.file.WriteAt(s.noted(synced), noteAt)", "_, err := 0, error(nil)",
			walPkg, apart,
		},
		{
			"a log that rests leaves no empty frame", walDir + "own.go",
			"if s.end() == l.rested ||", "if s.end() > 0 ||",
			walPkg, "TestOpen_EveryErrorOfTwoBitsIsFound",
		},
		{
			"an idle log does not rest", walDir + "commit.go",
			"idle.Reset(l.restAfter)", "idle.Stop()",
			walPkg, "TestRest_FollowsTheLastSync",
		},
	}
}

// ofOpening are mistakes in what is done when a store is opened.
func ofOpening() []mutant {
	return []mutant{
		{
			"what may not be on disk is not written again", walDir + "begin.go",
			"if len(data) > 0 {", "if len(data) > 0 && len(others) > 0 {",
			walPkg, "TestOpen_WritesAgainWhatMayNotBeOnDisk",
		},
		{
			"a segment that was begun and not written to leaves the one before without an end", walDir + "begin.go",
			"if len(others) > 0 && s.follower == 0 && !s.lost {", "if len(others) > 1 && s.follower == 0 && !s.lost {",
			embeddedPkg, "TestOpen_AfterEachOfManyCrashes|TestCrash_PowerCutAnywhereBreaksNoPromise",
		},
		{
			"a header of a newer version is damage", walDir + "identify.go",
			"errors.Is(err, ErrNewer)", "errors.Is(err, ErrNewer) && r.readOnly",
			walPkg, "TestOpen_NewerVersionIsNeitherReadNorSalvaged",
		},
		{
			"a frame of a newer version is damage", walDir + "recover.go",
			"case errors.Is(err, ErrNewer):", "case errors.Is(err, ErrNewer) && !r.salvage:",
			embeddedPkg, "TestOpen_WhatANewerVersionWroteIsNeitherOpenedNorRepaired",
		},
		{
			"an error of the disk is not damage", walDir + "reading.go",
			"r.proven = max(r.proven, u.upto)", "_ = u.upto",
			walPkg, "TestOpen_UnreadablePageIsSalvaged|TestOpen_UnreadablePageBeforeWhatWasNeverSynced",
		},
		{
			"a file that was left half made is in the way", walDir + "segment.go",
			"if errors.Is(err, fs.ErrExist) {", "if errors.Is(err, fs.ErrExist) && f != nil {",
			embeddedPkg, "TestPush_FileThatCannotBeMadeIsTriedAgain",
		},
		{
			"what was repaired has to be repaired again", embeddedDir + "merge.go",
			"if oldest == last {", "if oldest <= last {",
			embeddedPkg, "TestRepair_KeepsEverythingElse",
		},
		{
			"files that are removed are not noticed", walDir + "read.go",
			"if !slices.Contains(names, s.name) {", "if names == nil {",
			embeddedPkg, "TestPush_DirectoryRemoved",
		},
	}
}
