package mutants

// ofTheScripts are mistakes in the scripts of the Redis store.
func ofTheScripts() []mutant {
	const suite = "TestConformance|_LostReply"
	return []mutant{
		{
			"a push is not remembered", scriptsDir + "push.lua",
			"  calls_remember(producer, number, answer)\n", "",
			redisPkg, suite,
		},
		{
			"a claim is not remembered", scriptsDir + "claim.lua",
			"  calls_remember(consumer, number, once and '' or runs)\n", "",
			redisPkg, suite,
		},
		{
			"an empty claim that may have been tried before is not remembered", scriptsDir + "claim.lua",
			"(reply_size > 0 or tries == '1')", "reply_size > 0",
			redisPkg, suite,
		},
		{
			"leases that ran out are not counted as failures", scriptsDir + "lib/leases.lua",
			"failures, doubt = failures + 1, 'c'", "doubt = 'c'",
			redisPkg, suite,
		},
		{
			"leases that ran out are not counted", scriptsDir + "lib/leases.lua",
			"counter_add('lease_lost', n)", "",
			redisPkg, suite,
		},
		{
			"a message of a lease that ran out lives on though it was cancelled", scriptsDir + "lib/leases.lua",
			"if stop[i] then", "if false then",
			redisPkg, suite,
		},
		{
			"older calls are answered like new ones", scriptsDir + "lib/calls.lua",
			"return nil, last and calls_older(number, last)", "return nil, false",
			redisPkg, suite,
		},
		{
			"a management call is not remembered by Redis", scriptsDir + "lib/steps.lua",
			"  calls_remember(steps_caller, steps_number, (steps_from + done) .. ' ' .. text)\n", "",
			redisPkg, "TestManage_LostReply",
		},
		{
			"the start of a handler is not recorded", scriptsDir + "start.lua",
			"if #notes > 0 then redis.call", "if #notes < 0 then redis.call",
			redisPkg, "TestSettle_LostReply",
		},
		{
			"older settings replace later ones", scriptsDir + "configure.lua",
			"if (tonumber(partition_version) or 0) > tonumber(ARGV[3]) then", "if (tonumber(partition_version) or 0) < 0 then",
			redisPkg, "TestConfigure_OlderSettings",
		},
		{
			"a push does not look at the version of the settings", scriptsDir + "push.lua",
			"if partition_version ~= version then return {-3, partition_version or '0'} end\n", "",
			redisPkg, "TestPush_|TestPush_FlushedQueueIsCreatedAgain",
		},
		{
			"nobody notes how long records are", scriptsDir + "lib/largest.lua",
			"if largest > noted then", "if largest < 0 then",
			redisPkg, "TestClaim_EmptyPartitionForgetsThatRecordsWereLong",
		},
		{
			"records stay long for good", scriptsDir + "claim.lua",
			"  redis.call('HDEL', KEYS[1], 'largest')\n", "",
			redisPkg, "TestClaim_EmptyPartitionForgetsThatRecordsWereLong",
		},
		{
			"a script reads records without a limit", scriptsDir + "lib/fetch.lua",
			"n < #ids and fetch_copied < fetch_budget do", "n < #ids do",
			redisPkg, "TestScripts_LargeRecordsDoNotBlockOthers",
		},
		{
			"all leases that ran out are read at once", scriptsDir + "lib/leases.lua",
			"'-inf', to, 'LIMIT', 0, limit)", "'-inf', to)",
			redisPkg, "TestScripts_BacklogsDoNotBlockOthers",
		},
	}
}
