package mutants

// ofRemembering are mistakes in what the embedded engine remembers of messages that are gone.
func ofRemembering() []mutant {
	const suite, merges = "TestConformance/Remembering", "TestRemember_MergesKeepItUntilItIsOver"
	return []mutant{
		{
			"an id is known after its time", embeddedDir + "memory.go",
			"e != nil && !now.reached(e.at) {", "e != nil {",
			embeddedPkg, suite,
		},
		{
			"a dedup id is taken after its time", embeddedDir + "memory.go",
			" || e.state == gone && now.reached(e.at) {", " {",
			embeddedPkg, suite,
		},
		{
			"one more than the bound is forgotten", embeddedDir + "memory.go",
			"m.ends.len() > m.most {", "m.ends.len() >= m.most {",
			embeddedPkg, "TestRemember_BoundForgetsTheFirst",
		},
		{
			"messages that are forgotten early are not counted", embeddedDir + "change.go",
			"\t\t\tp.count(countForgotten)\n", "",
			embeddedPkg, "TestRemember_BoundForgetsTheFirst",
		},
		{
			"claims forget nothing", embeddedDir + "claim.go",
			"\tp.memory.lapse(now)\n", "",
			embeddedPkg, suite,
		},
		{
			"what is remembered is not written down", embeddedDir + "change.go",
			"\tp.journal.remembered(id, until, name)\n", "",
			embeddedPkg, merges,
		},
		{
			"merges drop what is remembered", embeddedDir + "merge.go",
			"return c.op != opPut && c.op != opRemember })", "return c.op != opPut })",
			embeddedPkg, merges,
		},
		{
			"a live message without a dedup id loses its window when the store is opened", embeddedDir + "encoding.go",
			"if !name.IsZero() || span > 0 {", "if !name.IsZero() {",
			embeddedPkg, "TestFileConformance/Remembering",
		},
		{
			"a message that becomes done keeps its dedup id", embeddedDir + "change.go",
			"\tp.freeKey(e)\n\tp.memory.free(e)\n\tp.leave(e)\n\tp.byID.drop(e)\n\tp.queue", "\tp.freeKey(e)\n\tp.leave(e)\n\tp.byID.drop(e)\n\tp.queue",
			embeddedPkg, "TestConformance/(Remembering|History)",
		},
		{
			"a message that becomes done is not remembered", embeddedDir + "done.go",
			"\tp.recall(e, now)\n", "",
			embeddedPkg, "TestConformance/(Remembering|History)",
		},
	}
}

// ofRememberingInRedis are the same in scripts.
func ofRememberingInRedis() []mutant {
	const suite = "TestConformance/Remembering|TestRemember_"
	return []mutant{
		{
			"no time begins in Redis when a message is gone", scriptsDir + "lib/remembered.lua",
			"'@%d', clock_up + span)", "'@%d', clock_up)",
			redisPkg, suite,
		},
		{
			"messages that are to be remembered are not counted down", scriptsDir + "lib/remembered.lua",
			"    if span then live = live - 1 end\n", "",
			redisPkg, suite,
		},
		{
			"a message that is forgotten by Redis frees the dedup id of another", scriptsDir + "lib/remembered.lua",
			"if holders[i] == names[2 * i] then", "if holders[i] then",
			redisPkg, suite,
		},
		{
			"Redis forgets one more than the bound", scriptsDir + "lib/remembered.lua",
			"if next - first <= REMEMBERED_MOST then break end", "if next - first < REMEMBERED_MOST then break end",
			redisPkg, suite,
		},
		{
			"messages that Redis forgets early are not counted", scriptsDir + "lib/remembered.lua",
			"  counter_add('forgotten', early)\n", "",
			redisPkg, suite,
		},
		{
			"the first write of a claim that forgets needs memory", scriptsDir + "lib/remembered.lua",
			"  if #drop > 0 then redis.call('HDEL', KEYS[1], unpack(drop)) end\n  if text and text ~= partition_windows then redis.call('HSET', KEYS[1], 'windows', text) end\n",
			"  if text and text ~= partition_windows then redis.call('HSET', KEYS[1], 'windows', text) end\n  if #drop > 0 then redis.call('HDEL', KEYS[1], unpack(drop)) end\n",
			redisPkg, suite,
		},
		{
			"claims of Redis forget nothing", scriptsDir + "claim.lua",
			"  if partition_windows and not answer then remembered_retire({}) end\n", "",
			redisPkg, suite,
		},
		{
			"a message that was replaced in the same push is new", scriptsDir + "lib/known.lua",
			"local span = known_spans[id]\n    or partition_windows and", "local span = partition_windows and",
			redisPkg, suite,
		},
		{
			"a push numbers what is gone from the beginning", scriptsDir + "lib/known.lua",
			"(rest or '0 0')", "'0 0'",
			redisPkg, suite,
		},
		{
			"an id is known in Redis after its time", scriptsDir + "lib/known.lua",
			"known_gone[ids[i]] = ends and ends > clock_now", "known_gone[ids[i]] = ends",
			redisPkg, suite,
		},
		{
			"sends that are repetitions are not counted", scriptsDir + "push.lua",
			"  counter_add('deduplicated', deduplicated)\n", "",
			redisPkg, suite,
		},
		{
			"messages that others replace are not remembered", scriptsDir + "lib/accept.lua",
			"  if partition_windows and #brief > 0 then remembered_retire(brief) end\n", "",
			redisPkg, suite,
		},
	}
}
