package mutants

// ofSlots are mistakes in how queues share the handlers of a worker.
func ofSlots() []mutant {
	const suite, ending = "TestSlots_", "TestDispatch_"
	return []mutant{
		{
			"the slot of a handler that returned stays taken", consumerDir + "slots.go",
			"\ta.charge(now)\n\ta.running--\n\ts.freed(1, now)\n", "\ta.charge(now)\n\ts.freed(1, now)\n",
			consumerPkg, suite,
		},
		{
			"a queue keeps its slots", consumerDir + "slots.go",
			"if rival == nil || a.claim() <= rival.claim() {", "if rival == nil || a.claim() > 0 {",
			consumerPkg, suite,
		},
		{
			"a queue has one slot more than it may", consumerDir + "slots.go",
			"\t\tif a.held() >= a.most {\n", "\t\tif a.held() > a.most {\n",
			consumerPkg, suite,
		},
		{
			"slots that are reserved are not given to those who wait", consumerDir + "slots.go",
			"\t\ta.reserved -= surplus\n\t\ts.freed(surplus, now)\n", "\t\ta.reserved -= surplus\n\t\ts.free += surplus\n",
			consumerPkg, suite,
		},
		{
			"a queue gets slots that it does not want any more", consumerDir + "slots.go",
			"\tcase a.wanted == 0 && waited:\n", "\tcase a.wanted == 0 && waited && a.most < 0:\n",
			consumerPkg, suite,
		},
		{
			"a queue that waits for one slot gets all", consumerDir + "slots.go",
			"if next.wanted--; next.wanted == 0 {", "if next.wanted == 0 {",
			consumerPkg, suite,
		},
		{
			"what a queue had while nobody else wanted it counts for good", consumerDir + "slots.go",
			"a.virtual = min(max(a.virtual, least), most)", "a.virtual = max(a.virtual, least)\n\t_ = most",
			consumerPkg, suite,
		},
		{
			"a queue that was idle has a claim to all that it did not use", consumerDir + "slots.go",
			"a.virtual = min(max(a.virtual, least), most)", "a.virtual = min(a.virtual, most)\n\t_ = least",
			consumerPkg, suite,
		},
		{
			"weights are ignored", consumerDir + "slots.go",
			"a.virtual += float64(a.held()) * float64(now.Sub(a.since)) / a.weight", "a.virtual += float64(a.held()) * float64(now.Sub(a.since))",
			consumerPkg, suite,
		},
		{
			"a handler that takes no time costs its queue nothing", consumerDir + "slots.go",
			"\ta.virtual += float64(minUse) / a.weight\n", "",
			consumerPkg, suite,
		},
		{
			"a queue that may have more slots waits for the next one to become free", consumerDir + "slots.go",
			"\ta.most = most\n\ta.slots.freed(0, time.Now())\n", "\ta.most = most\n",
			consumerPkg, suite,
		},
		{
			"a consumer that ends keeps the slots that are reserved for it", consumerDir + "slots.go",
			"\t\tshare.trim(0)\n", "",
			consumerPkg, ending,
		},
		{
			"a consumer that has ended still waits for slots", consumerDir + "slots.go",
			"\t\tshare.ask(0)\n", "",
			consumerPkg, ending,
		},
		{
			"what was acked before its handler is not handled when the consumer stops", consumerDir + "slots.go",
			"\tif w.config.AtMostOnce {\n\t\tctx = life\n\t}\n", "",
			consumerPkg, ending,
		},
	}
}

// ofWorkers are mistakes in how a worker runs the consumers of its queues.
func ofWorkers() []mutant {
	const suite = "TestWorker_"
	return []mutant{
		{
			"a handler that ends its goroutine keeps its slot", consumerDir + "slots.go",
			"\t\tif has {\n", "\t\tif has && h == nil {\n",
			rootPkg, suite,
		},
		{
			"a queue that comes back is not consumed", "worker.go",
			"\t\tdelete(r.queues, e.queue)\n\t\treturn nil\n", "\t\tknown.consumed = true\n\t\treturn nil\n",
			rootPkg, suite,
		},
		{
			"a queue that was deleted while it was listed is made again", "worker.go",
			"r.consume(ctx, route, name, r.client.Queue(name).find)", "r.consume(ctx, route, name, r.client.Queue(name).learn)",
			rootPkg, suite,
		},
		{
			"a queue that cannot be consumed is tried at each look", "worker.go",
			"\tknown.not = time.Now().Add(consumeAgainAfter)\n", "",
			rootPkg, suite,
		},
		{
			"an error of one queue ends all", "worker.go",
			"\tcase ctx.Err() != nil, errors.Is(err, ErrClosed), errors.Is(err, ErrFailed):", "\tcase err != nil:",
			rootPkg, suite,
		},
		{
			"a worker returns while handlers run", "worker.go",
			"\treturn errors.Join(failed, r.wait())\n", "\tgo func() { _ = r.wait() }()\n\treturn failed\n",
			rootPkg, suite,
		},
		{
			"the last pattern that matches counts", "worker.go",
			"if first == nil && r.glob != nil", "if r.glob != nil",
			rootPkg, suite,
		},
		{
			"a queue's own concurrency is ignored", "worker.go",
			"min(cmp.Or(o.Concurrency, maxConcurrency), w.options.Concurrency)", "w.options.Concurrency",
			rootPkg, suite,
		},
	}
}

// ofIdleMaps are mistakes in what drops what nobody uses.
func ofIdleMaps() []mutant {
	const suite = "TestMap_|TestTicker_"
	return []mutant{
		{
			"a value that is used stays old", idleDir + "idle.go",
			"\tm.young[key] = v\n\treturn v\n", "\tif !ok {\n\t\tm.young[key] = v\n\t} else {\n\t\tm.old[key] = v\n\t}\n\treturn v\n",
			idlePkg, suite,
		},
		{
			"a value that must be kept is dropped", idleDir + "idle.go",
			"\t\tif m.kept(v) {\n\t\t\tm.old[key] = v\n\t\t}\n", "\t\t_, _ = key, v\n",
			idlePkg, suite,
		},
		{
			"values are dropped after one period without use, or less", idleDir + "idle.go",
			"m.young, m.old = map[K]V{}, m.young", "m.young, m.old = map[K]V{}, map[K]V{}",
			idlePkg, suite,
		},
		{
			"the dropping ends although there are values", idleDir + "idle.go",
			"return len(m.old)", "return 0",
			idlePkg, suite,
		},
		{
			"nothing is ever dropped", idleDir + "idle.go",
			"\t\tm.ticker.Start()\n", "",
			idlePkg, suite,
		},
		{
			"a drop takes what must be kept", idleDir + "idle.go",
			"if chosen(key) && !m.kept(v) {", "if chosen(key) || m.kept(v) && chosen(key) {",
			idlePkg, suite,
		},
		{
			"a drop leaves what has been used lately", idleDir + "idle.go",
			"\tfor _, of := range []map[K]V{m.young, m.old} {\n\t\tfor key, v := range of {\n\t\t\tif chosen", "\tfor _, of := range []map[K]V{m.old} {\n\t\tfor key, v := range of {\n\t\t\tif chosen",
			idlePkg, suite,
		},
		{
			"a ticker ticks once", idleDir + "idle.go",
			"\tt.timer = nil // the next Start starts it again\n", "",
			idlePkg, suite,
		},
		{
			"a ticker that was stopped starts again", idleDir + "idle.go",
			"if t.timer == nil && !t.stopped {", "if t.timer == nil {",
			idlePkg, suite,
		},
		{
			"a ticker that was stopped ticks once more", idleDir + "idle.go",
			"\t\tt.timer.Stop()\n\t\tt.timer = nil\n", "\t\tt.timer = nil\n",
			idlePkg, suite,
		},
	}
}
