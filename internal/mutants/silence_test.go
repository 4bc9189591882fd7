package mutants

// ofSilence are mistakes in how messages without a key avoid partitions that do not answer, and in how
// calls stay large with many partitions.
func ofSilence() []mutant {
	const file, suite = "internal/producer/silence.go", "TestSend_(KeylessMessages|SilentPartition|AllPartitions)"
	return []mutant{
		{
			"keyless messages go to a silent partition, too", "internal/route/roundrobin.go",
			"r.Avoid == nil || !r.Avoid(next)", "r.Avoid == nil || r.Avoid(next) || true",
			rootPkg, suite,
		},
		{
			"a push that was given up is forgotten", file,
			"\ts.failed = !answered\n", "\ts.failed = false\n",
			rootPkg, suite,
		},
		{
			"a silent partition is never asked whether it answers again", file,
			"\tif ask {\n", "\tif ask && false {\n",
			rootPkg, suite,
		},
		{
			"a silent partition is asked for each message", file,
			"ask = now.Sub(s.probed) >= probeEvery", "ask = now.Sub(s.probed) >= 0",
			rootPkg, suite,
		},
		{
			"concurrent sends are divided among partitions, so their calls are small", "internal/route/roundrobin.go",
			"max(sending/concurrentCalls, min(sending*rounds, enough))", "max(1, sending/concurrentCalls)",
			rootPkg, "TestSend_ConcurrentSendersShareCalls",
		},
		{
			"claims get smaller with the number of partitions", consumerDir + "capacity.go",
			"(total+c.sharers-1)/c.sharers, ahead/2)", "(total+c.sharers-1)/c.sharers, 0)",
			consumerPkg, "TestCapacity_ClaimsAreAsLarge",
		},
	}
}
