package mutants

// ofTheFailures are mistakes in the failure texts that messages keep.
func ofTheFailures() []mutant {
	const (
		suite = "TestConformance/DeadLetters/RecentFailures"
		logs  = "internal/failurelog/failurelog.go"
	)
	return []mutant{
		{
			"a failure text of before is not cut", logs,
			"write(&b, older, store.MaxOlderFailure)", "write(&b, older, store.MaxFailure)",
			embeddedPkg, suite,
		},
		{
			"a failure text is cut within a character", logs,
			"for size > 0 && !utf8.RuneStart(text[size]) {", "for size < 0 && !utf8.RuneStart(text[size]) {",
			embeddedPkg, suite,
		},
		{
			"the failure texts of before are lost", embeddedDir + "claim.go",
			"failurelog.With(h.texts, store.Failure{", "failurelog.With(\"\", store.Failure{",
			embeddedPkg, suite,
		},
		{
			"a store that is opened again has only the newest failure text", embeddedDir + "encoding.go",
			"\tcase textsAlone:\n", "\tcase textsAlone, textsAdded:\n",
			embeddedPkg, "TestNote_FailureTexts",
		},
		{
			"a failure text that comes twice is empty when the store is opened again", embeddedDir + "encoding.go",
			"\t\tf.Text = newest.Text\n", "\t\t_ = newest\n",
			embeddedPkg, "TestNote_FailureTexts",
		},
		{
			"a script copies failure texts without a limit", scriptsDir + "lib/textslimit.lua",
			"      if space < 0 then return i - 1 end\n", "",
			redisPkg, "TestSettle_LongFailureTexts",
		},
		{
			"failure texts of before do not count", scriptsDir + "lib/textslimit.lua",
			"if tried > 0 then size, tried = size + TEXTSLIMIT_KEPT, tried - 1 end", "if tried > 0 then tried = tried - 1 end",
			redisPkg, "TestSettle_LongFailureTexts",
		},
		{
			"an ack copies the failure texts of 500 messages into the history", scriptsDir + "ack.lua",
			"partition_tried > 0 and {unpack(ids, 1, 250)} or ids", "ids",
			redisPkg, "TestSettle_LongFailureTexts",
		},
		{
			"all failure texts are kept on a full disk", embeddedDir + "change.go",
			"past.texts != e.past().texts && p.journal.scarce() {", "past.texts == \"\" && p.journal.scarce() {",
			embeddedPkg, "TestNote_FullDiskKeepsTheNewestFailureText",
		},
		{
			"what has no space for failure texts writes one on a full disk", embeddedDir + "change.go",
			"past.texts != e.past().texts && p.journal.scarce() {", "p.journal.scarce() {",
			embeddedPkg, "TestNote_FullDiskKeepsTheNewestFailureText",
		},
		{
			"a merge on a full disk writes all failure texts", embeddedDir + "change.go",
			"if alone && len(newest.Text) <= scarceText {", "if (alone || true) && len(newest.Text) <= scarceText {",
			embeddedPkg, "TestNote_ShortenedHasTheNewestFailureText",
		},
		{
			"a failure text of before is not cut in Redis", scriptsDir + "lib/texts.lua",
			"if stop - start >= TEXTS_OLDER then", "if stop - start >= 1024 then",
			redisPkg, suite,
		},
		{
			"a failure text is cut within a character in Redis", scriptsDir + "lib/texts.lua",
			"      while stop >= start and string.find(texts, '^[\\128-\\191]', stop + 1) do stop = stop - 1 end\n", "",
			redisPkg, suite,
		},
		{
			"the failure texts of before are lost in Redis", scriptsDir + "lib/plan.lua",
			"texts_with(before[i], clock_now,", "texts_with(nil, clock_now,",
			redisPkg, suite,
		},
		{
			"failure texts that cannot be read are not reported", scriptsDir + "lib/auditfields.lua",
			"  if kind == 'f' and not texts_whole(value) then problems_add(field, 'cannot be read') end\n", "",
			redisPkg, "TestCheck_FindsEachProblem",
		},
		{
			"an export has no failure but the last", "internal/transfer/format.go",
			"LastFailure: r.LastFailure, Recent: r.RecentFailures,", "LastFailure: r.LastFailure,",
			"./cmd/dueq", "TestExport_FileToRedis",
		},
		{
			"an import has no failure but the last", "internal/transfer/format.go",
			"LastFailure: m.LastFailure, RecentFailures: m.Recent,", "LastFailure: m.LastFailure,",
			"./cmd/dueq", "TestExport_FileToRedis",
		},
	}
}
