package mutants

// ofTheHistory are mistakes in what the embedded engine keeps of messages that have ended.
func ofTheHistory() []mutant {
	const suite = "TestConformance/History"
	return []mutant{
		{
			"a message that ends twice is done twice", embeddedDir + "done.go",
			"old := p.done.byID.get(e.id); old != nil {", "old := p.done.byID.get(e.id); old != nil && old == e {",
			embeddedPkg, suite,
		},
		{
			"one done message too few is kept", embeddedDir + "done.go",
			"int64(p.done.order.len()) <= s.DonePerPartition()", "int64(p.done.order.len()) < s.DonePerPartition()",
			embeddedPkg, suite,
		},
		{
			"done messages are kept a millisecond too long", embeddedDir + "done.go",
			"!now.reached(e.at+s.History)", "!now.reached(e.at+s.History+1)",
			embeddedPkg, suite,
		},
		{
			"a message that ends pushes out no other", embeddedDir + "done.go",
			"\tp.shed(1, now)\n", "",
			embeddedPkg, suite,
		},
		{
			"a delivery that ends with a cancel is not counted", embeddedDir + "change.go",
			"if how == acked || e.state == leased {", "if how == acked {",
			embeddedPkg, suite,
		},
		{
			"all done messages of a key are listed", embeddedDir + "endedbykey.go",
			"if all := k[e.content.key()]; len(all) > most {", "if all := g[e.content.key()]; len(all) > 100*most {",
			embeddedPkg, suite,
		},
		{
			"a store on a full disk keeps done messages", embeddedDir + "done.go",
			" && !p.journal.scarce()", "",
			embeddedPkg, "TestHistory_FullDisk",
		},
		{
			"a done message that is forgotten is counted for good when the store is opened", embeddedDir + "replay.go",
			"\t\t\tlive.drop(e)\n\t\t\tp.forget(e)\n\t\t}\n\tcase opCount:", "\t\t\tp.forget(e)\n\t\t}\n\tcase opCount:",
			embeddedPkg, "TestHistory_BytesAreGivenBack",
		},
		{
			"the record of an end does not say how", embeddedDir + "replay.go",
			"p.end(e, c.past.ended, c.at)", "p.end(e, acked, c.at)",
			embeddedPkg, "TestFileConformance/History",
		},
	}
}

// ofTheHistoryInRedis are the same in scripts.
func ofTheHistoryInRedis() []mutant {
	const suite = "TestConformance/History"
	return []mutant{
		{
			"Redis keeps one done message too few", scriptsDir + "lib/donelimits.lua",
			"local n = all - 1 - most", "local n = all - most",
			redisPkg, suite,
		},
		{
			"Redis keeps done messages of any age", scriptsDir + "lib/donelimits.lua",
			"if n <= limit then", "if n == math.huge then",
			redisPkg, suite,
		},
		{
			"one done message more than is over the limits is removed", scriptsDir + "lib/donelimits.lua",
			"math.min(n, limit) - 1)", "math.min(n, limit))",
			redisPkg, suite,
		},
		{
			"done messages that are removed stay in the index by key", scriptsDir + "lib/donelimits.lua",
			"    if keyed then index_remove(KEYS[8], ids) end\n", "",
			redisPkg, suite,
		},
		{
			"a done message is found by the key that it had before", scriptsDir + "lib/done.lua",
			"      index_remove(KEYS[8], ids)\n", "",
			redisPkg, suite,
		},
		{
			"a message that ends again keeps the time of its first end", scriptsDir + "lib/done.lua",
			"      redis.call('ZADD', KEYS[7], unpack(scores))\n    end\n", "    end\n",
			redisPkg, suite,
		},
		{
			"a message that ends pushes out no other in Redis", scriptsDir + "lib/done.lua",
			"  donelimits_apply(n)\n", "",
			redisPkg, suite,
		},
		{
			"a message that was never delivered has one delivery", scriptsDir + "lib/done.lua",
			"if h or deliveries ~= 1 then", "if h then",
			redisPkg, suite,
		},
		{
			"records of done messages that are purged stay", scriptsDir + "purge.lua",
			"    redis.call('HDEL', KEYS[8], unpack(removed))\n", "",
			redisPkg, suite,
		},
		{
			"a history that is turned off is dropped before it is empty", scriptsDir + "claim.lua",
			"if not partition_keeps_done and not left then", "if not partition_keeps_done then",
			redisPkg, suite,
		},
		{
			"a long body of a done message has no size", scriptsDir + "lib/done.lua",
			"string.sub(record, 1, start), '+' .. #record - start end", "string.sub(record, 1, start), '' end",
			redisPkg, "TestHistory_",
		},
		{
			"a history counts no failures", scriptsDir + "lib/done.lua",
			"history_counts(failures, snoozes) .. ' '", "history_counts(0, snoozes) .. ' '",
			redisPkg, suite,
		},
	}
}
