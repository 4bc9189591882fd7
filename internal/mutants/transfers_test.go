package mutants

// ofTransfers are mistakes in exports and imports.
func ofTransfers() []mutant {
	const dir, commandPkg = "internal/transfer/", "./cmd/dueq"
	return []mutant{
		{
			"an export leaves out done messages", dir + "export.go",
			"store.Waiting, store.Dead, store.Done}", "store.Waiting, store.Dead}",
			commandPkg, "TestExport_FileToRedis",
		},
		{
			"an export reads the first page only", dir + "export.go",
			`if r.Cursor = page.Next; r.Cursor == "" {`, "if r.Cursor = page.Next; true {",
			commandPkg, "TestExport_FileToRedis",
		},
		{
			"an export reads the first partition only", dir + "export.go",
			"for i := range partitions {", "for i := range min(partitions, 1) {",
			commandPkg, "TestExport_FileToRedis",
		},
		{
			"an export is collected in memory", dir + "export.go",
			"bufio.NewWriterSize(w, 64<<10)", "bufio.NewWriterSize(w, 64<<20)",
			"./internal/transfer", "TestTransfer_MemoryDoesNotGrow",
		},
		{
			"a queue that grows is exported", dir + "export.go",
			"if settings.From != 0 {", "if settings.From < 0 {",
			commandPkg, "TestExport_GrowingQueueIsRefused",
		},
		{
			"an import does not compare the sum", dir + "check.go",
			`case e.SHA256 != "" && e.SHA256 != sum:`, `case e.SHA256 == "x":`,
			commandPkg, "TestImport_DamagedExportChangesNothing",
		},
		{
			"an import does not count messages", dir + "check.go",
			"case e.Messages != c.messages:", "case e.Messages < c.messages:",
			commandPkg, "TestImport_DamagedExportChangesNothing",
		},
		{
			"an import stores what comes behind the end", dir + "check.go",
			"if _, err := c.in.next(); !errors.Is(err, io.EOF) {", "if _, err := c.in.next(); err != nil && !errors.Is(err, io.EOF) {",
			commandPkg, "TestImport_DamagedExportChangesNothing",
		},
		{
			"a key is imported into a partition that is not its home", dir + "check.go",
			"home != index {", "home < 0 {",
			commandPkg, "TestImport_DamagedExportChangesNothing",
		},
		{
			"consumers get messages of a queue whose import goes on", dir + "import.go",
			"c, paused := changeTo(s.settings), true\n", "c, paused := changeTo(s.settings), false\n",
			commandPkg, "TestImport_InterruptedIsContinued",
		},
		{
			"an imported queue stays paused", dir + "import.go",
			"Token: imported + s.sum, Paused: &s.settings.Paused}", "Token: imported + s.sum}",
			commandPkg, "TestImport_InterruptedIsContinued",
		},
		{
			"an import goes on with a queue that another one began", dir + "import.go",
			"case made.ChangedBy != importing+s.sum:", `case made.ChangedBy == "":`,
			commandPkg, "TestImport_InterruptedIsContinued",
		},
		{
			"the last batch of a queue is not stored", dir + "import.go",
			"\tif err := i.flush(ctx); err != nil {\n\t\treturn err\n\t}\n\ts := i.sections", "\ts := i.sections",
			commandPkg, "TestExport_FileToRedis",
		},
	}
}

// ofMigrations are mistakes in copies from other libraries.
func ofMigrations() []mutant {
	const dir, pkg = "internal/migrate/", "./internal/migrate"
	return []mutant{
		{
			"failures in asynq do not count", dir + "asynq.go",
			"attempts: int(t.retry-t.retried) + 1}", "attempts: int(t.retry) + 1}",
			pkg, "TestRun_AsynqTasks",
		},
		{
			"what consumers of asynq hold is copied", dir + "asynq.go",
			"shape: list, active: true, skip: held},\n\t\t{state: \"aggregating\"", "shape: list, active: true},\n\t\t{state: \"aggregating\"",
			pkg, "TestRun_MessagesThatConsumersHold",
		},
		{
			"delayed jobs of BullMQ are due at once", dir + "bullmq.go",
			"time.UnixMilli(int64(score) >> 12)", "time.UnixMilli(int64(score) >> 22)",
			pkg, "TestRun_BullMQJobs",
		},
		{
			"jobs of BullMQ that others wait for are copied", dir + "bullmq.go",
			`case fields[jobParent] != "":`, `case fields[jobParent] == "x":`,
			pkg, "TestRun_BullMQJobs",
		},
		{
			"jobs of a paused queue of BullMQ stay behind", dir + "bullmq.go",
			"\t\t{state: \"paused\", key: b.prefix + \"paused\", shape: list}, // instead of wait in a queue that is paused, before version 6\n", "",
			pkg, "TestRun_BullMQJobsOfAPausedQueue",
		},
		{
			"retries that are left in delayqueue do not count", dir + "delayqueue.go",
			"e.attempts = min(n, mostAttempts) + 1", "e.attempts = min(n*0, mostAttempts) + 1",
			pkg, "TestRun_DelayqueueMessages",
		},
		{
			"queues of delayqueue with a hash tag are not found", dir + "delayqueue.go",
			`families: []string{own, "{" + own + "}"}`, "families: []string{own}",
			pkg, "TestRun_DelayqueueMessages",
		},
		{
			"a message is copied again by the next look", dir + "look.go",
			"if v, is := l.known[d]; is {", "if v, is := l.known[d]; is && v > 0 {",
			pkg, "TestRun_",
		},
		{
			"a refused message is called copied", dir + "look.go",
			"return l.reason(\"the key is taken\", id, r.Err), nil", "return copied, nil",
			pkg, "TestRun_",
		},
		{
			"a list is read to its first page", dir + "source.go",
			"if len(ids) < pageSize {", "if len(ids) <= pageSize {",
			pkg, "TestRun_LargeSets",
		},
		{
			"an encoding that is not understood is copied", dir + "task.go",
			`t.kind == "" || `, "",
			pkg, "TestRun_AsynqTasks|TestDecodeTask",
		},
	}
}

// ofReleases are mistakes in building a release.
func ofReleases() []mutant {
	const dir, pkg = "internal/release/", "./internal/release"
	return []mutant{
		{
			"what is not committed is released", dir + "check.go",
			`if changed != "" {`, `if changed == "x" {`,
			pkg, "TestRelease_Refused",
		},
		{
			"a version is published twice", dir + "check.go",
			`if tagged != "" && tagged != head {`, `if tagged == head+"x" {`,
			pkg, "TestRelease_Refused",
		},
		{
			"a version without a text in the changelog is released", dir + "check.go",
			`line != "" && !strings.HasPrefix(line, "#")`, `line != ""`,
			pkg, "TestRelease_Refused",
		},
		{
			"version 2 is released under the path of version 1", dir + "check.go",
			`case parts[1] != "0" && parts[1] != "1":`, `case parts[1] == "x":`,
			pkg, "TestRelease_Refused",
		},
		{
			"the program in a zip cannot be executed", dir + "archive.go",
			"\t\theader.SetMode(f.mode)\n", "",
			pkg, "TestRelease_Zip",
		},
	}
}
