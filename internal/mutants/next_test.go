package mutants

// ofNext are mistakes in the step that acks a delivery and stores what follows it.
func ofNext() []mutant {
	const suite = "TestConformance$/Next"
	return []mutant{
		{
			"a receipt whose message is gone is a success, whatever was to follow", embeddedDir + "next.go",
			"if !declared && p.knows(m, nil, now) == unknown {", "if !declared && p.knows(m, nil, now) == unknown && false {",
			embeddedPkg, suite,
		},
		{
			"the key of the delivery is taken for what follows it", embeddedDir + "next.go",
			"if holder == e {", "if holder == nil {",
			embeddedPkg, suite,
		},
		{
			"the delivery counts to the limit beside what follows it", embeddedDir + "next.go",
			"more := -1", "more := 0",
			embeddedPkg, suite,
		},
		{
			"on a full disk a delivery with nothing new to store cannot be settled", embeddedDir + "next.go",
			"\t\tnoSpace = true\n\t\terr = s.change(ctx, part, settleEffort(&r, 0), step)\n", "\t\tnoSpace = true\n",
			embeddedPkg, "TestNext_FullDisk",
		},
		{
			"what follows has no size, so a call can be larger than the store takes", consumerDir + "calls.go",
			"if i.details == nil {\n\t\treturn 0", "if i.details == nil || i.details.Next == nil {\n\t\treturn 0",
			rootPkg, "TestConsumeBatch_Next",
		},
		{
			"middleware of sends does not see what follows", "verdict.go",
			" && d.queue.client.wrapped == nil", "",
			rootPkg, "TestNext",
		},
		{
			"a recurring message and what follows it are settled in one step", "verdict.go",
			"return !d.recurs() && !d.early", "return !d.early",
			rootPkg, "TestNext",
		},
		{
			"what follows a message that was acked before its handler is stored with the ack", "verdict.go",
			"return !d.recurs() && !d.early", "return !d.recurs()",
			rootPkg, "TestNext",
		},
		{
			"more messages follow in one step than a call may have", "verdict.go",
			"same != \"\" || len(own) > store.MaxBatch || len(own) > 1 && size > store.MaxBatchBytes", "same != \"\"",
			rootPkg, "TestNext",
		},
		{
			"OnSend is not called for what follows", "verdict.go",
			", Done: d.queue.client.stored(d.Queue, own)", "",
			rootPkg, "TestHooks",
		},
	}
}

// ofNextInRedis are those in its script.
func ofNextInRedis() []mutant {
	const suite = "TestConformance$/Next"
	return []mutant{
		{
			"a refused delivery leaves what was decided before the refusal", scriptsDir + "next.lua",
			"    trial_undo()\n", "    trial_keep()\n",
			redisPkg, suite,
		},
		{
			"the script takes a receipt whose message is gone for a success, whatever was to follow", scriptsDir + "next.lua",
			"not there and follow_known(at - from + 1) and CODE_GONE", "not there and CODE_GONE",
			redisPkg, suite,
		},
		{
			"the script leaves the key of the delivery taken", scriptsDir + "next.lua",
			"then keys_holders[key] = false end", "then keys_holders[key] = keys_holders[key] end",
			redisPkg, suite,
		},
		{
			"the script counts the delivery to the limit", scriptsDir + "next.lua",
			"staged_records[id], livelimit_live = false, livelimit_live - 1", "staged_records[id] = false",
			redisPkg, suite,
		},
		{
			"consumers are not woken for what follows", scriptsDir + "next.lua",
			"  wake_consumers(before, batch_earliest, ARGV[1], ARGV[2])\n", "",
			redisPkg, suite,
		},
		{
			"at maxmemory the script stores what follows", scriptsDir + "next.lua",
			"  livelimit_memory = false\n", "",
			redisPkg, "TestNext",
		},
		{
			"what follows and is known is stored again", scriptsDir + "lib/follow.lua",
			"if known_before(i, accept_ids[i]) then accept_deduplicated", "if false then accept_deduplicated",
			redisPkg, suite,
		},
		{
			"two receipts of one message in a call both count", scriptsDir + "next.lua",
			"j and not settled[j] and settle(at, j)", "j and settle(at, j)",
			redisPkg, suite,
		},
	}
}
