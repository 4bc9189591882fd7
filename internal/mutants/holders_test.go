package mutants

// ofHolders are mistakes in what is known of who has a leased message.
func ofHolders() []mutant {
	return []mutant{
		{
			"an alias is given to another consumer while leases have it", scriptsDir + "lib/alias.lua",
			"math.min(first, clock_now - (n < 1023 and 3600000 or 60000))", "clock_now - (n < 1023 and 3600000 or 60000)",
			redisPkg, "TestHolder_AliasOfLeasesThatRanOutIsKept",
		},
		{
			"two consumers have an alias, as the one before does not lose it", scriptsDir + "lib/alias.lua",
			"if tonumber(number) == calls_alias then", "if tonumber(number) == -1 then",
			redisPkg, "TestHolder_AliasUnusedForAnHourIsTakenOver",
		},
		{
			"an alias that a lease has may be a new one", scriptsDir + "lib/alias.lua",
			"  while number > 0 and redis.call('ZSCORE', KEYS[3], '=' .. number) do number = number - 1 end\n", "",
			redisPkg, "TestHolder_LostLeasesLeaveNoWrongName",
		},
		{
			"leases that are extended end behind the bound of their alias", scriptsDir + "lib/prolong.lua",
			"if alias > 0 then bounds[alias]", "if alias > 1023 then bounds[alias]",
			redisPkg, "TestHolder_AliasOfAnExtendedLeaseIsKept",
		},
		{
			"a lease that is extended loses its holder", scriptsDir + "lib/prolong.lua",
			"instant_text(instant * 1024 + alias)", "instant_text(instant * 1024)",
			redisPkg, "TestConformance/Holders",
		},
		{
			"names of aliases are dropped with old callers", scriptsDir + "lib/calls.lua",
			" and string.sub(some[i], 1, 2) ~= 'a:'", "",
			redisPkg, "TestHolder_",
		},
		{
			"the holder of a lease that ended is shown", embeddedDir + "change.go",
			"\tp.hold(e, 0)\n", "",
			embeddedPkg, "TestConformance/Holders",
		},
		{
			"holders are replaced while they hold messages", embeddedDir + "holders.go",
			"h[number].held++", "h[number].held = 0",
			embeddedPkg, "TestConformance/Holders",
		},
		{
			"holders are never replaced", embeddedDir + "holders.go",
			"\t\th[number].held--\n", "",
			embeddedPkg, "TestHolders_",
		},
	}
}
