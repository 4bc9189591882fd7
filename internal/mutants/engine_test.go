package mutants

// ofTheEngine are mistakes in the steps of the state machine.
func ofTheEngine() []mutant {
	return []mutant{
		{
			"a call that changed nothing does not wait for what came before", embeddedDir + "journal.go",
			"\tj.reset()\n\treturn j.end, matters", "\tj.reset()\n\tif !matters {\n\t\treturn 0, false\n\t}\n\treturn j.end, matters",
			embeddedPkg, "TestPush_RepeatedWaitsUntilTheFirstIsDurable",
		},
		{
			"the start of a handler is not written down", embeddedDir + "change.go",
			"\tp.journal.begun(e)\n", "",
			embeddedPkg, "TestCrash_PowerCutAnywhereBreaksNoPromise",
		},
		{
			"a delivery that nobody started has failed", embeddedDir + "claim.go",
			"if e.begun() {", "if e != nil {",
			embeddedPkg, "TestConformance",
		},
		{
			"nobody suspects a message whose lease ran out", embeddedDir + "claim.go",
			"past.suspicion = max(past.suspicion, store.Suspect)", "_ = store.Suspect",
			embeddedPkg, "TestConformance",
		},
		{
			"a handler that returned leaves its message suspected", embeddedDir + "settle.go",
			"if e.begun() {", "if e == nil {",
			embeddedPkg, "TestConformance",
		},
		{
			"a management call is not remembered", embeddedDir + "numbered.go",
			"p.rememberManaged(caller, number, rememberedResults(results), now)", "_ = now",
			embeddedPkg, "TestConformance",
		},
		{
			"a redriven message keeps its TTL", embeddedDir + "change.go",
			"e.rare.expiry = 0", "_ = e",
			embeddedPkg, "TestConformance",
		},
		{
			"a message that cannot be read is another one", embeddedDir + "push.go",
			"err != nil && novelty == fresh {", "err != nil && novelty == repeated {",
			embeddedPkg, "TestPush_SentAgainWhileItCannotBeRead",
		},
		{
			"a lease that runs out on the last attempt ends a series", embeddedDir + "claim.go",
			`(how != lost || e.repeat() == "")`, "true",
			embeddedPkg, "TestConformance",
		},
		{
			"a running message cannot be declared", embeddedDir + "push.go",
			"\t\tp.replace(e, m, leased, e.at)\n", "",
			embeddedPkg, "TestConformance",
		},
		{
			"an error of the disk makes a dead letter", embeddedDir + "claim.go",
			"if errors.Is(err, store.ErrCorrupt) {", "if err != nil {",
			embeddedPkg, "TestClaim_ReadErrorThatPasses",
		},
	}
}
