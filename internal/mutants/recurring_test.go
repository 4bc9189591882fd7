package mutants

// ofSkipping are mistakes in what a client reports of occurrences that no handler gets.
func ofSkipping() []mutant {
	const suite = "TestHooks_"
	return []mutant{
		{
			"hooks see nothing of what a consumer skips", consumerDir + "recur.go",
			"\t\titem.result = why\n", "",
			rootPkg, suite,
		},
		{
			"hooks see nothing of what a consumer skips after it was acked", consumerDir + "recur.go",
			"\t\tw.settler.outcomes.pass(Outcome{Held: h, Verdict: *v, Result: why, Err: err})\n", "",
			rootPkg, suite,
		},
		{
			"hooks do not see that the verdict on what Receive skips was lost", "receive.go",
			"q.client.hooks.skipped(held, v.Verdict, why, lost)", "_ = lost\n\tq.client.hooks.skipped(held, v.Verdict, why, nil)",
			rootPkg, suite,
		},
		{
			"a skipped occurrence looks like a handled one", "hooks.go",
			"\t\th.skipped(o.Held, o.Verdict.Verdict, o.Result, o.Err)\n\t\treturn\n", "",
			rootPkg, suite,
		},
		{
			"Backoff can settle its delivery", "consume.go",
			"\t\t\td.shown = true\n", "",
			rootPkg, "TestDelivery_HasTheSchedule",
		},
	}
}

// ofRecurring are mistakes in what the embedded engine does to recurring messages.
func ofRecurring() []mutant {
	const suite = "TestConformance/Recurring"
	return []mutant{
		{
			"a letter has more failures than attempts", embeddedDir + "settle.go",
			"past.failures = min(past.failures+1, uint32(e.maxAttempts))", "past.failures++",
			embeddedPkg, suite,
		},
		{
			"a letter is made by another schedule than the message has", embeddedDir + "settle.go",
			"\tcase item.Next.Repeat != e.repeat():\n\t\treturn store.CodeChanged, nil\n", "",
			embeddedPkg, suite,
		},
		{
			"a letter is not counted as sent", embeddedDir + "settle.go",
			"\tp.insert(p.letter(e, content, item, how, now), dead)\n\tp.count(countSent)\n", "\tp.insert(p.letter(e, content, item, how, now), dead)\n",
			embeddedPkg, suite,
		},
		{
			"an occurrence that was asked to stop becomes a letter", embeddedDir + "settle.go",
			" && e.repeat() != \"\" && !e.stopping()", " && e.repeat() != \"\"",
			embeddedPkg, suite,
		},
		{
			"a failure for good that is repeated is no failure for good", embeddedDir + "settle.go",
			"countNacked, nacked, parted, store.CodeDead", "countNacked, nacked, nacked, store.CodeDead",
			embeddedPkg, suite,
		},
		{
			"an occurrence begins with the failures of the one before", embeddedDir + "settle.go",
			"\tp.note(e, history{deliveries: done, earlier: done, ended: ended})\n\tp.renew(e, due, 0)\n",
			"\tp.note(e, history{deliveries: done, failures: e.past().failures, ended: ended})\n\tp.renew(e, due, 0)\n",
			embeddedPkg, suite,
		},
		{
			"another schedule keeps the failures of before", embeddedDir + "push.go",
			"if past := e.past(); past.deliveries > 0 {", "if past := e.past(); past.deliveries > 1000 {",
			embeddedPkg, suite,
		},
		{
			"a schedule is not read when the store is opened", embeddedDir + "replay.go",
			"c.entry.setRepeat(payload(c.whole[:payload(head).bodyAt()]).repeat())", "_ = payload(head)",
			embeddedPkg, "TestFileConformance/Recurring",
		},
		{
			"less space is asked for than a letter takes", embeddedDir + "ahead.go",
			"size += messageSize + int(e.stored.size) + ", "size += int(e.stored.size) + ",
			embeddedPkg, "TestSettle_LetterTakesNoMoreThanWasAskedFor",
		},
		{
			"no space is asked for the failure text of a letter", embeddedDir + "ahead.go",
			" + len(r.Items[i].Failure) + len(e.past().texts)", "",
			embeddedPkg, "TestSettle_LetterTakesNoMoreThanWasAskedFor",
		},
	}
}

// ofRecurringInRedis are the same in scripts.
func ofRecurringInRedis() []mutant {
	const suite = "TestConformance/Recurring"
	return []mutant{
		{
			"a letter in Redis has more failures than attempts", scriptsDir + "part.lua",
			"history_counts(math.min(failures + 1, most), snoozes)", "history_counts(failures + 1, snoozes)",
			redisPkg, suite,
		},
		{
			"a letter does not keep the failure text of before", scriptsDir + "part.lua",
			"local texts = text == '' and before or text ~= ''", "local texts = text ~= ''",
			redisPkg, suite,
		},
		{
			"a letter has only the newest failure text", scriptsDir + "part.lua",
			"texts_with(before, clock_now,", "texts_with(nil, clock_now,",
			redisPkg, suite,
		},
		{
			"the histories that a letter adds are not all counted", scriptsDir + "part.lua",
			"plan_fresh + (h and 1 or 2)", "plan_fresh + 1",
			redisPkg, suite,
		},
		{
			"a letter in Redis is not counted as sent", scriptsDir + "part.lua",
			"  counter_add('sent', letters)\n", "",
			redisPkg, suite,
		},
		{
			"Redis makes a letter of an occurrence that was asked to stop", scriptsDir + "part.lua",
			"  if stop[j] then\n", "  if false then\n",
			redisPkg, suite,
		},
		{
			"Redis makes a letter by another schedule than the message has", scriptsDir + "part.lua",
			"  elseif last_one and repeats and schedule_of(recs[id]) ~= ARGV[i + 5 * n] then\n    code = CODE_CHANGED\n", "",
			redisPkg, suite,
		},
		{
			"a failure for good that is repeated is no failure for good in Redis", scriptsDir + "part.lua",
			"(how == 'n' and 'd' or how)", "how",
			redisPkg, suite,
		},
		{
			"a letter is not found by its key", scriptsDir + "part.lua",
			"dead_add(copy, '', true, key)", "dead_add(copy, '', true)",
			redisPkg, suite,
		},
		{
			"the next occurrence follows another schedule than the message has", scriptsDir + "again.lua",
			"  if repeats and recurs and schedule_of(record) ~= repeats then return CODE_CHANGED end\n", "",
			redisPkg, suite,
		},
		{
			"an occurrence can have a TTL, which ends the series", scriptsDir + "again.lua",
			"if ttl > 0 and (recurs or due >= clock_up + ttl) then", "if ttl > 0 and due >= clock_up + ttl then",
			redisPkg, suite,
		},
		{
			"a declaration of the same schedule changes the message", scriptsDir + "lib/declare.lua",
			"  if was == repeats then return id end\n", "",
			redisPkg, suite,
		},
		{
			"another schedule keeps the failures of before in Redis", scriptsDir + "lib/declare.lua",
			"    if h then\n      local deliveries", "    if not h then\n      local deliveries",
			redisPkg, suite,
		},
		{
			"the lease that ran out on the last attempt ends a series in Redis", scriptsDir + "lib/leases.lua",
			"begun and failures >= most and not repeats then", "begun and failures >= most then",
			redisPkg, suite,
		},
	}
}

// ofSchedules are mistakes in when messages are due.
func ofSchedules() []mutant {
	return []mutant{
		{
			"an interval is counted from now", seriesDir + "schedule.go",
			"next = from + max((after-from)/every+1, 1)*every", "next = after + every",
			seriesPkg, "TestNext_",
		},
		{
			"an interval is over before it began", seriesDir + "schedule.go",
			"max((after-from)/every+1, 1)*every", "((after-from)/every+1)*every",
			seriesPkg, "TestNext_",
		},
		{
			"a time that does not exist is an hour off", seriesDir + "schedule.go",
			"\t\t\t\treturn start\n", "\t\t\t\treturn at\n",
			seriesPkg, "TestNext_",
		},
		{
			"a time that exists twice counts twice", seriesDir + "schedule.go",
			"if at := instantOf(wall, s.zone); at.After(t) {\n\t\t\treturn at", "if at := instantOf(wall, s.zone); !wall.IsZero() {\n\t\t\treturn at",
			seriesPkg, "TestNext_",
		},
		{
			"the zone of a schedule is ignored", seriesDir + "schedule.go",
			"return &Schedule{spec: spec, zone: zone, CatchUp: s.CatchUp}, nil", "return &Schedule{spec: spec, zone: cmp.Or(time.UTC, zone), CatchUp: s.CatchUp}, nil",
			seriesPkg, "TestNext_",
		},
		{
			"a schedule without a time in 10 years goes on", seriesDir + "schedule.go",
			"next == 0 || next > after+store.MaxDelay {", "next == 0 {",
			seriesPkg, "TestNext_Over",
		},
	}
}

// ofOccurrences are mistakes in how one occurrence follows on another.
func ofOccurrences() []mutant {
	const suite = "TestSettle_|TestJudge_"
	return []mutant{
		{
			"an occurrence is due a second time when the clock was set back", seriesDir + "settle.go",
			"return s.Next(part.due, max(now, part.due))", "return s.Next(part.due, now)",
			seriesPkg, suite,
		},
		{
			"an ack of an occurrence that was cancelled fails", seriesDir + "settle.go",
			"\t\tif v == store.Again {\n\t\t\tb.acked(indexes)\n\t\t}\n", "",
			seriesPkg, suite,
		},
		{
			"messages beside an occurrence are not settled", seriesDir + "settle.go",
			"\tif len(plain) > 0 {\n", "\tif len(plain) > 1000 {\n",
			seriesPkg, suite,
		},
		{
			"all letters of a series have one id", seriesDir + "settle.go",
			"route.FollowingID(id, int64(item.Receipt.Attempt), letterIndex", "route.FollowingID(id, 0, letterIndex",
			seriesPkg, suite,
		},
		{
			"a schedule that has changed is not computed anew", seriesDir + "settle.go",
			"if b.codes[i] != store.CodeChanged {", "if b.codes[i] != store.CodeChanged || i >= 0 {",
			seriesPkg, suite,
		},
		{
			"a message that is gone when its schedule is read anew keeps others from being settled", seriesDir + "settle.go",
			"\t\tif errors.Is(err, store.ErrNotFound) {\n\t\t\tb.codes[i] = store.CodeGone\n\t\t\tcontinue\n\t\t}\n", "",
			seriesPkg, suite,
		},
		{
			"an occurrence whose schedule cannot be read is lost", seriesDir + "settle.go",
			"\tcase err != nil:\n\t\treturn store.Snooze, store.Settlement{\n", "\tcase err != nil && v != store.Ack:\n\t\treturn store.Snooze, store.Settlement{\n",
			seriesPkg, suite,
		},
		{
			"a schedule that is over keeps its message", seriesDir + "settle.go",
			"case errors.Is(err, ErrOver): // so the series ends with this occurrence", "case errors.Is(err, ErrOver) && v != store.Ack:",
			seriesPkg, suite,
		},
		{
			"an occurrence runs though the next one is due", seriesDir + "settle.go",
			"next <= d.Now+ago.Milliseconds() {", "next < d.Now+ago.Milliseconds() {",
			seriesPkg, suite,
		},
		{
			"how long an occurrence has waited for a worker does not count", seriesDir + "settle.go",
			"d.Now+ago.Milliseconds()", "d.Now",
			seriesPkg, suite,
		},
		{
			"an occurrence without attempts left runs once more", seriesDir + "settle.go",
			"if d.Failures >= d.MaxAttempts {", "if d.Failures > d.MaxAttempts {",
			seriesPkg, suite,
		},
	}
}
