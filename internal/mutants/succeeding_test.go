package mutants

// ofSucceeding are mistakes in how a consumer succeeds another one when its queue has grown.
func ofSucceeding() []mutant {
	const tests = "TestGrowing_Handlers"
	return []mutant{
		{
			"the next consumer does not count the handlers of the one before", consumerDir + "capacity.go",
			"return max(0, c.limit-c.before)", "return c.limit",
			rootPkg, tests,
		},
		{
			"the next consumer prefetches for workers that it does not have", consumerDir + "capacity.go",
			"if c.mean == 0 || c.before > 0 {", "if c.mean == 0 {",
			rootPkg, tests,
		},
		{
			"the next consumer does not hear that handlers have returned", consumerDir + "capacity.go",
			"\tif c.before != before {\n", "\tif c.before < before {\n",
			rootPkg, tests,
		},
		{
			"permits of what is given back are not handed over", consumerDir + "work.go",
			"\tw.release(ctx, all)\n\tw.capacity.give(len(all))\n", "\tw.release(ctx, all)\n",
			rootPkg, tests,
		},
		{
			"the grace of handlers that run on begins at once", consumerDir + "consumer.go",
			"\tdefer context.AfterFunc(caller, func() {", "\tover, now := context.WithCancel(caller)\n\tnow()\n\tdefer context.AfterFunc(over, func() {",
			rootPkg, tests,
		},
		{
			"handlers that run on do not hear of cancels", consumerDir + "consumer.go",
			"watch.Go(func() { c.watch(watching) })", "watch.Go(func() { <-watching.Done() })",
			rootPkg, tests,
		},
	}
}
