package mutants

// ofTheDashboard are mistakes in what the API answers for the dashboard.
func ofTheDashboard() []mutant {
	return []mutant{
		{
			"consumers of queues that a token may not read are listed", httpDir + "members.go",
			"return c.allow(Read, name) == nil", "return true",
			httpPkg, "TestAllMembers_",
		},
		{
			"a page of consumers begins with the last queue of the one before", httpDir + "queuepage.go",
			"name <= after", "name < after",
			httpPkg, "TestAllMembers_Pages",
		},
		{
			"the consumers of the last queues are left out", httpDir + "queuepage.go",
			"names, next = names[:limit], names[limit-1]", "names = names[:limit]",
			httpPkg, "TestAllMembers_",
		},
		{
			"the forecast of all queues has those that a token may not read", httpDir + "queuepage.go",
			"name <= after || !selected(name)", "name <= after",
			httpPkg, "TestAllForecast_Only",
		},
		{
			"the forecast of all queues lacks what is due later", httpDir + "forecast.go",
			"\ts.Later += f.Later\n", "",
			httpPkg, "TestAllForecast_Pages",
		},
		{
			"a token of some queues sees the store", httpDir + "description.go",
			"len(c.token.Queues) > 0", "len(c.token.Queues) > 100",
			httpPkg, "TestDescribe_",
		},
		{
			"questions that a server does not answer have no answer", redisDir + "ask.go",
			"\t\t\tleft = append(left, at)\n\t\t}\n\t}", "\t\t}\n\t}",
			redisPkg, "TestStats_OnlyWhatFailedIsAskedAgain",
		},
		{
			"all questions are asked again", redisDir + "ask.go",
			"if open = left; err != nil {", "if len(left) == 0 {\n\t\t\t\topen = nil\n\t\t\t}\n\t\t\tif err != nil {",
			redisPkg, "TestStats_OnlyWhatFailedIsAskedAgain",
		},
		{
			"each question that needs a missing script sends it", redisDir + "ask.go",
			`"NOSCRIPT") && missing == 0`, `"NOSCRIPT")`,
			redisPkg, "TestStats_ScriptsAreLoadedOnce",
		},
		{
			"an error of many questions names the first queue", redisDir + "ask.go",
			"questions[failing].queue", "questions[0*failing].queue",
			redisPkg, "TestStats_ErrorNamesTheQueue",
		},
		{
			"each queue of the statistics is asked alone", redisDir + "stats.go",
			"return s.statsOf(ctx, queues)", "for i, all := 0, []store.Stats(nil); ; i++ {\n\t\t\tif i == len(queues) {\n\t\t\t\treturn all, nil\n\t\t\t}\n" +
				"\t\t\tone, err := s.statsOf(ctx, queues[i:i+1])\n\t\t\tif all = append(all, one...); err != nil {\n\t\t\t\treturn nil, err\n\t\t\t}\n\t\t}",
			redisPkg, "TestStats_PipelinesDoNotGrow",
		},
		{
			"settings that a partition has and meta has not are not looked for", redisDir + "stats.go",
			"latest > is.Version", "latest > is.Version+1<<60",
			redisPkg, "TestStats_LatestSettings",
		},
		{
			"a queue whose meta is lost has no statistics", redisDir + "stats.go",
			"\t\t\tlost = append(lost, i)\n", "\t\t\tcontinue\n",
			redisPkg, "TestStats_QueuesThatAreNotThere",
		},
		{
			"a page is read in one step", "list.go",
			"listStep  = 250", "listStep  = 1000",
			".", "TestList_NoStepExaminesMore",
		},
		{
			"a page ends with its partition", "list.go",
			"listSteps = 16", "listSteps = 1",
			".", "TestList_PageIsReadInSteps",
		},
		{
			"a page has the large bodies of all its steps", "list.go",
			" || large {", " || large && false {",
			".", "TestList_PageOfLargeBodies",
		},
		{
			"a page examines as many messages in each step", "list.go",
			"\t\to.Limit -= len(found.Records)\n", "",
			".", "TestList_PageIsReadInSteps|TestList_PagesInEachState",
		},
		{
			"a directory that is not synced is fine", embeddedDir + "describe.go",
			"f.Level, f.Found = store.Warn, \"the operating", "f.Found = \"the operating",
			embeddedPkg, "TestDescribe_",
		},
		{
			"a full disk is a warning", embeddedDir + "describe.go",
			"f.Level, f.Found, f.Fix = store.Fail, \"the disk", "f.Level, f.Found, f.Fix = store.Warn, \"the disk",
			embeddedPkg, "TestDescribe_",
		},
		{
			"a group of failures chooses every message", "filter.go",
			"failuregroup.Of(r.LastFailure) != m.FailureGroup", "false",
			httpPkg, "TestFailures_Texts",
		},
		{
			"messages that do not recur are listed as recurring", "filter.go",
			"m.Recurring && r.Repeat == \"\"", "m.Recurring && false",
			httpPkg, "TestList_Recurring",
		},
		{
			"a list with a range begins with the first message of all", "list.go",
			"m.from(from.state), min(", "0, min(",
			rootPkg, "TestList_RangeIsReadFromItsBeginning",
		},
		{
			"a change of all that match a range reads those before it", "bulk.go",
			"From: b.match.from(state), ", "",
			rootPkg, "TestList_RangeIsReadFromItsBeginning",
		},
		{
			"a list from a time leaves out messages of that time in Redis", redisDir + "read.go",
			"	from := r.From\n", "	from := r.From + 1\n",
			redisPkg, "TestConformance/Reading",
		},
		{
			"a descending list from a time leaves out messages of that time in Redis", redisDir + "read.go",
			"		from++\n", "",
			redisPkg, "TestConformance/Reading",
		},
		{
			"a page in Redis begins with the last message of the page before", redisDir + "read.go",
			"		p.member += \"\\x00\" // behind the member itself\n", "",
			redisPkg, "TestConformance/Reading",
		},
		{
			"a page in descending order has the first messages in Redis", redisDir + "scripts/lib/ranks.lua",
			"math.max(low, high - limit), high - 1)", "low, math.min(low + limit, high) - 1)",
			redisPkg, "TestConformance/Reading",
		},
		{
			"a cursor of a list in the other order is taken in Redis", redisDir + "read.go",
			"err == nil && p.descending != r.Descending", "err == nil && r.Limit < 0",
			redisPkg, "TestConformance/Reading",
		},
		{
			"a sorted page repeats messages of the instant at its cursor", "listorder.go",
			"			s.behind(at, l.options.Order)\n", "			s.begin(at, l.options.Order)\n",
			rootPkg, "TestList_OrderWhileMessagesComeAndGo",
		},
		{
			"a sorted page begins anew in the partitions behind its cursor", "listorder.go",
			"			s.begin(at, l.options.Order)\n\t\t}\n\t}\n", "\t\t}\n\t}\n",
			rootPkg, "TestList_Order",
		},
		{
			"a list in descending order takes the earliest first", "listorder.go",
			"			at = -at\n", "",
			rootPkg, "TestList_Order",
		},
		{
			"a descending list of ready messages begins with scheduled ones", embeddedDir + "list.go",
			"if r.Descending && !now.reached(from.at) {", "if r.Descending && now.reached(from.at) {",
			embeddedPkg, "TestConformance/Reading",
		},
		{
			"a cursor of a list in the other order is taken", embeddedDir + "list.go",
			"		return position{}, r.OtherOrder()\n", "		return pos, nil\n",
			embeddedPkg, "TestConformance/Reading",
		},
		{
			"statuses of answers are ids", "internal/failuregroup/failuregroup.go",
			"case \"\", \"status\"", "case \"none\"",
			"./internal/failuregroup", "TestOf_",
		},
	}
}
