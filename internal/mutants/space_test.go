package mutants

// ofTheSpace are mistakes in what is kept for a full disk.
func ofTheSpace() []mutant {
	return []mutant{
		{
			"a settle asks for too little space for what becomes done", embeddedDir + "durable.go",
			"max(noteSize+renewSize, finishSize)", "noteSize + renewSize",
			embeddedPkg, "TestHistory_Ends",
		},
		{
			"a cancel asks for too little space for what becomes done", embeddedDir + "durable.go",
			"max(noteSize+moveSize, finishSize) + answerSize", "noteSize + moveSize + answerSize",
			embeddedPkg, "TestHistory_Ends",
		},
		{
			"an index that was large stays large", embeddedDir + "index.go",
			"\t\t*x = newIndex()\n", "",
			embeddedPkg, "TestMemory_Of",
		},
		{
			"the keys of done messages stay in memory", embeddedDir + "done.go",
			"\t\td.byKey, d.most = make(endedByKey), 0\n", "",
			embeddedPkg, "TestMemory_Of",
		},
		{
			"forgotten dedup ids stay in memory", embeddedDir + "memory.go",
			"\t\tm.named, m.peak = make(map[store.DedupID]*entry), 0\n", "",
			embeddedPkg, "TestMemory_Of",
		},
		{
			"a message is added without the reserve that it needs", walDir + "space.go",
			"case use == Add && l.reserved < l.floor(Add):", "case use == Add && l.reserved < 0:",
			walPkg, "TestAdmit_ReserveKeepsUpWithWhatIsAdded",
		},
		{
			"letting messages go may take what merging needs", walDir + "reserve.go",
			"\tif use == Drain {\n\t\treturn merge\n", "\tif use == Drain {\n\t\treturn 0\n",
			walPkg, "TestAdmit_FullDiskGivesTheWholeReserve",
		},
		{
			"the reserve is not given back to a full disk", walDir + "reserve.go",
			"for floor := l.floor(use); l.reserve.size > floor &&", "for floor := l.floor(Add); l.reserve.size > floor &&",
			walPkg, "TestAdmit_FullDiskGivesTheWholeReserve",
		},
		{
			"no space is kept for failure texts", embeddedDir + "merge.go",
			"texts := min(messages, store.MaxBatch) * store.MaxFailure", "texts := min(messages, store.MaxBatch) * 0 * store.MaxFailure",
			embeddedPkg, "TestSettle_DiskFilledByAnotherProgramHasSpaceForTexts",
		},
		{
			"failure texts are not cut on a full disk", embeddedDir + "durable.go",
			"if s.log == nil || !s.log.Scarce() {", "if s != nil {",
			embeddedPkg, "TestSettle_FullDiskWithHandlersThatFail",
		},
		{
			"bytes on their way to the disk have no bound", embeddedDir + "flight.go",
			"f.used+bytes <= f.most {", "f.used+bytes > 0 {",
			embeddedPkg, "TestPush_SlowDiskBoundsBytesInFlight",
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
			embeddedPkg, "TestCrash_PowerCutAnywhereBreaksNoPromise",
		},
		{
			"a message that is written again is counted twice", embeddedDir + "journal.go",
			"\t\tj.live.drop(p.e)\n\t\tp.e.stored", "\t\tp.e.stored",
			embeddedPkg, "TestMerge_DrainedStoreIsSmall|TestMerge_FullDisk",
		},
		{
			"a merge forgets the settings of queues", embeddedDir + "settings.go",
			"q.home <= oldest {", "q.home < oldest {",
			embeddedPkg, "TestMerge_KeepsSettingsOfTheSegment",
		},
		{
			"a backup shares the segment that is written to", walDir + "image.go",
			"for i := len(images) - 2; i >= 0 && images[i+1].Size > segmentHead; i-- {", "for i := len(images) - 1; i >= 0; i-- {",
			embeddedPkg, "TestBackup_",
		},
	}
}

// ofThePace are mistakes in how fast a merge goes.
func ofThePace() []mutant {
	return []mutant{
		{
			"a merge takes the disk from calls", embeddedDir + "pace.go",
			"if p.idle || p.credit > 0 || p.care.log.Scarce() {", "if p.care != nil {",
			embeddedPkg, "TestMerge_WritesAFewBytesForEachByteOfCalls",
		},
		{
			"garbage has no bound", embeddedDir + "pace.go",
			"max(0, paceRise*excess/max(p.limit, 1))", "max(0, 0*excess)",
			embeddedPkg, "TestMerge_PaceRisesWithGarbage",
		},
		{
			"a merge waits for calls that do not come", embeddedDir + "pace.go",
			"\tp.idle = called < paceIdle\n\tp.credit", "\tp.idle = false\n\tp.credit",
			embeddedPkg, "TestMerge_ContinuesWithoutCalls",
		},
	}
}
