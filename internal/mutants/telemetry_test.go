package mutants

// ofTelemetry are mistakes in hooks and in what is exported to Prometheus.
func ofTelemetry() []mutant {
	return []mutant{
		{
			"joined hooks call only the first", "hooks.go",
			"		first(e)\n		second(e)\n", "		first(e)\n",
			".", "TestJoinHooks",
		},
		{
			"a call of the store is reported without its error", "calls.go",
			"Took: time.Since(began), Err: err})", "Took: time.Since(began)})",
			".", "TestHooks_OnCall",
		},
		{
			"a store with hooks cannot be backed up", "calls.go",
			"s.(*observed); ok {", "s.(*observed); ok && false {",
			".", "TestBackup_WithOnCall",
		},
		{
			"every queue has series of its own", "dueqprom/series.go",
			"if m.used == m.most {", "if m.used < 0 {",
			"dueqprom", "TestMetrics_QueuesOverTheLimit",
		},
		{
			"each scrape reads the store", "dueqprom/queues.go",
			"time.Since(q.read) >= q.options.Every", "time.Since(q.read) >= 0",
			"dueqprom", "TestQueues_ScrapesWithinTheInterval",
		},
		{
			"a queue loses its series to a new one", "dueqprom/queues.go",
			"return !exists[name] }", "return true || !exists[name] }",
			"dueqprom", "TestQueues_OverTheLimit",
		},
		{
			"a delivery that ended is still running", "dueqprom/metrics.go",
			"	s.running.Dec()\n", "",
			"dueqprom", "TestMetrics_CountDeliveriesAndTheirEnds",
		},
		{
			"a store that answers again stays unreachable", "dueqprom/metrics.go",
			"m.down.Swap(down) != down", "!m.down.Load() && m.down.Swap(down) != down",
			"dueqprom", "TestMetrics_StoreCallsAndWhetherItAnswers",
		},
		{
			"a delivery is a part of the trace in which it is consumed", "dueqotel/process.go",
			"trace.WithNewRoot(), ", "",
			"dueqotel", "TestStart_InsideAnotherTrace",
		},
		{
			"a delivery has no link to its send", "dueqotel/process.go",
			"trace.WithLinks(links...), ", "",
			"dueqotel", "TestProcess_LinksToTheSend",
		},
		{
			"a snooze is a failure", "dueqotel/process.go",
			"	if failed(verdict) {", "	if err != nil {",
			"dueqotel", "TestProcess_StatusIsAnError",
		},
		{
			"a repeated send has another trace context", "dueqotel/send.go",
			"if !repeated {", "if true {",
			"dueqotel", "TestSend_RepeatedAfterALostReply",
		},
		{
			"a trace context takes the place of headers", "dueqotel/send.go",
			"|| size > maxHeaderSize", "",
			"dueqotel", "TestSend_MessageWithFullHeaders",
		},
		{
			"a handler that panics leaves its span open", "dueqotel/process.go",
			"		span.End()\n	}()\n	err := handle()\n", "	}()\n	err := handle()\n	span.End()\n",
			"dueqotel", "TestProcess_EndsTheSpan",
		},
		{
			"a verdict of Next is a failure", "hooks.go",
			"v == store.Next || v == store.Nack && next", "v == store.Next || v == \"\" && next",
			".", "TestVerdictOf",
		},
	}
}
