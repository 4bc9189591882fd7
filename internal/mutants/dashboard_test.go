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
			"\tr.From = m.from(from.state)\n", "",
			rootPkg, "TestList_RangeIsReadFromItsBeginning",
		},
		{
			"a change of all that match a range reads those before it", "bulk.go",
			"From: b.match.from(state), ", "",
			rootPkg, "TestList_RangeIsReadFromItsBeginning",
		},
		{
			"a list from a time leaves out messages of that time in Redis", redisDir + "read.go",
			"score = strconv.FormatInt(r.From, 10)", "score = strconv.FormatInt(r.From+1, 10)",
			redisPkg, "TestConformance/Reading",
		},
		{
			"statuses of answers are ids", "internal/failuregroup/failuregroup.go",
			"case \"\", \"status\"", "case \"none\"",
			"./internal/failuregroup", "TestOf_",
		},
	}
}
