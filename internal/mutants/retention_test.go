package mutants

// ofRetention are mistakes in how the embedded engine removes dead letters.
func ofRetention() []mutant {
	const suite = "TestConformance/DeadRetention"
	return []mutant{
		{
			"one dead letter too few is kept", embeddedDir + "trim.go",
			"int64(p.dead.len()) > s.DeadPerPartition()", "int64(p.dead.len()) >= s.DeadPerPartition()",
			embeddedPkg, suite,
		},
		{
			"dead letters are kept a millisecond too long", embeddedDir + "trim.go",
			"now.reached(e.at+s.DeadRetention)", "now.reached(e.at+s.DeadRetention+1)",
			embeddedPkg, suite,
		},
		{
			"the limit of the age keeps what is over that of the number", embeddedDir + "trim.go",
			"if e == nil || !over && (s.DeadRetention == 0 || ", "if e == nil || !over && s.DeadRetention == 0 || s.DeadRetention > 0 && (",
			embeddedPkg, suite,
		},
		{
			"dead letters that are removed are not counted", embeddedDir + "trim.go",
			"\t\tp.count(countDeadExpired)\n", "",
			embeddedPkg, suite,
		},
		{
			"a claim removes any number of dead letters", embeddedDir + "trim.go",
			"if n == trimMost {", "if n == 100*trimMost {",
			embeddedPkg, suite,
		},
		{
			"the next claim is not asked for when there are more to remove", embeddedDir + "claim.go",
			"return min(p.wait(now), trimAgain) }", "return p.wait(now) }",
			embeddedPkg, suite,
		},
		{
			"dead letters are removed before leases that ran out are ended", embeddedDir + "claim.go",
			"\tp.sweep(now)\n\tp.memory.lapse(now)\n\twait := p.wait\n\tmore := p.trim(now)\n",
			"\tmore := p.trim(now)\n\tp.sweep(now)\n\tp.memory.lapse(now)\n\twait := p.wait\n",
			embeddedPkg, suite,
		},
		{
			"dead letters that are removed are not remembered", embeddedDir + "trim.go",
			"p.remove(e, now)", "p.drop(e)",
			embeddedPkg, suite,
		},
		{
			"dead letters of a key are in the order of dying", embeddedDir + "endedbykey.go",
			"for at > 0 && all[at-1].at > e.at {", "for at > 0 && all[at-1].at < 0 {",
			embeddedPkg, "TestConformance/(DeadLetters|History)",
		},
	}
}

// ofRetentionInRedis are the same in scripts.
func ofRetentionInRedis() []mutant {
	const suite = "TestConformance/DeadRetention"
	return []mutant{
		{
			"Redis keeps one dead letter too few", scriptsDir + "lib/deadlimits.lua",
			"redis.call('ZCARD', KEYS[5]) - 1 - most", "redis.call('ZCARD', KEYS[5]) - most",
			redisPkg, suite,
		},
		{
			"Redis keeps dead letters of any age", scriptsDir + "lib/deadlimits.lua",
			"if span ~= '0' and n <= DEADLIMITS_MOST then", "if span == '-' then",
			redisPkg, suite,
		},
		{
			"the limit of the age takes the place of that of the number", scriptsDir + "lib/deadlimits.lua",
			"n = math.max(n, redis.call('ZCOUNT', KEYS[5], '-inf', clock_now - span))", "n = redis.call('ZCOUNT', KEYS[5], '-inf', clock_now - span)",
			redisPkg, suite,
		},
		{
			"one dead letter more than is over the limits is removed", scriptsDir + "lib/deadlimits.lua",
			"math.min(n, DEADLIMITS_MOST) - 1)", "math.min(n, DEADLIMITS_MOST))",
			redisPkg, suite,
		},
		{
			"dead letters that are removed stay in the index by key", scriptsDir + "lib/deadlimits.lua",
			"  index_remove(KEYS[1], ids)\n", "",
			redisPkg, suite,
		},
		{
			"what is known of dead letters that are removed stays", scriptsDir + "lib/deadlimits.lua",
			"  remove_messages(ids, {})\n", "",
			redisPkg, suite,
		},
		{
			"dead letters that Redis removes are not counted", scriptsDir + "lib/deadlimits.lua",
			"  counter_add('dead_expired', #ids)\n", "",
			redisPkg, suite,
		},
		{
			"Redis does not ask for another claim when there are more to remove", scriptsDir + "lib/deadlimits.lua",
			"return n > DEADLIMITS_MOST", "return false",
			redisPkg, suite,
		},
		{
			"a claim that is repeated removes dead letters", scriptsDir + "claim.lua",
			"if partition_dead_limits and not answer then", "if partition_dead_limits then",
			redisPkg, suite,
		},
		{
			"Redis removes dead letters before it ends leases that ran out", scriptsDir + "claim.lua",
			"if not answer and lease <= clock_now then\n  leases_sweep(sweep_most)\n  lease = leases_soonest()\nend\nlocal more = false\nif partition_dead_limits and not answer then\n-- USES deadlimits\n  more = deadlimits_apply()\nend\n",
			"local more = false\nif partition_dead_limits and not answer then\n-- USES deadlimits\n  more = deadlimits_apply()\nend\nif not answer and lease <= clock_now then\n  leases_sweep(sweep_most)\n  lease = leases_soonest()\nend\n",
			redisPkg, suite,
		},
		{
			"those of a key that stay dead are forgotten with the removed", scriptsDir + "lib/index.lua",
			"  if #set > 0 then redis.call('HSET', hash, unpack(set)) end\n", "  if #set > 0 then redis.call('HDEL', hash, set[1]) end\n",
			redisPkg, suite,
		},
		{
			"lists of a key are in the order of writing when the clock was set back", scriptsDir + "lib/index.lua",
			"while i > 1 and at[i - 1] and tonumber(at[i - 1]) > instant do", "while i > 1 and at[i - 1] and tonumber(at[i - 1]) < 0 do",
			redisPkg, "TestKeys_",
		},
	}
}
