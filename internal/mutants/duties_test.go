package mutants

// ofDuties are mistakes in how the consumers of a queue share the work of looking at it.
func ofDuties() []mutant {
	const (
		dutyFile, fetchFile, rosterFile = consumerDir + "duty.go", consumerDir + "fetch.go", consumerDir + "roster.go"
		many                            = "TestConsume_(IdleCalls|CallsOfALone|Flood|BusyConsumer|Hung|DutyMoves|AllNotice|WrongDuties|CrashingProcess)"
	)
	return []mutant{
		{
			"every consumer takes itself for the one on duty", dutyFile,
			"\tif distance == 0 {\n\t\treturn onDuty", "\tif distance >= 0 {\n\t\treturn onDuty",
			rootPkg, many,
		},
		{
			"the reserve looks as often as the standby", dutyFile,
			"spread(most * time.Duration(consumers))", "spread(most * time.Duration(min(consumers, 1)))",
			rootPkg, many,
		},
		{
			"a quiet partition is looked at as often as a busy one", dutyFile,
			"\t\tmost = quietPoll\n", "\t\tmost = guardPoll\n",
			rootPkg, many,
		},
		{
			"the standby does not look", dutyFile,
			"return min(wait+standbyAfter, spread(most))", "return time.Hour",
			rootPkg, many,
		},
		{
			"hints do not reach the standby", fetchFile,
			"\t\tf.ringLater()\n", "\t\tbreak\n",
			rootPkg, many,
		},
		{
			"a consumer without a free handler does not call for help", fetchFile,
			"\t\t\tf.work.callForHelp(ctx, f.duty)\n", "",
			rootPkg, many,
		},
		{
			"calls for help do not widen", dutyFile,
			"min(max(1, 2*distance), consumers-1, store.MaxRanked)", "min(max(1, 0*distance), consumers-1, store.MaxRanked)",
			rootPkg, many,
		},
		{
			"a consumer that is called for help does not come", dutyFile,
			"\tif distance > helpers {\n", "\tif distance > 0 {\n",
			rootPkg, many,
		},
		{
			"a consumer that stops does not hand over its duty", consumerDir + "consumer.go",
			"distance == 0 && consumers > 1", "distance < 0 && consumers > 1",
			rootPkg, many,
		},
		{
			"a consumer that stops keeps its duty until its handlers have ended", consumerDir + "consumer.go",
			"\tc.config.Roster.leave(ctx, post)\n", "\t_ = ctx\n",
			rootPkg, "TestConsume_",
		},
		{
			"consumers that do not look are not notified of a deletion", fetchFile,
			"\tcase store.EventReset:\n\t\tf.ring()\n", "\tcase store.EventReset:\n\t\tf.hint()\n",
			rootPkg, many,
		},
		{
			"a consumer gets duties as soon as it starts", rosterFile,
			"time.Since(p.since) >= trialFor", "time.Since(p.since) >= 0",
			rootPkg, many,
		},
		{
			"a consumer that releases messages for lack of workers claims them again", consumerDir + "shed.go",
			"\t\td.giveWay()\n", "",
			rootPkg, "TestConsumeBatch_MessagesThatWait",
		},
		{
			"a consumer that releases messages for lack of workers does not call for help", consumerDir + "shed.go",
			"\t\ts.work.callForHelp(ctx, d)\n", "\t\t_ = ctx\n",
			rootPkg, "TestConsumeBatch_MessagesThatWait",
		},
		{
			"a runner that is rung while it runs forgets it", consumerDir + "runner.go",
			"\tcase running:\n\t\tr.state = rung\n\tcase rung,", "\tcase running, rung,",
			consumerPkg, "TestRunner",
		},
		{
			"a runner that is armed while it runs forgets it", consumerDir + "runner.go",
			"\tcase running: // it may have looked before the caller's change\n\t\tr.state = rung\n\tcase sleeping,", "\tcase running, sleeping,",
			consumerPkg, "TestRunner",
		},
		{
			"a consumer does not wait for the last runs of its roles", consumerDir + "runner.go",
			"\t\tr.state = ending\n", "\t\tr.state = over\n\t\treturn true\n",
			consumerPkg, "TestRunner",
		},
		{
			"leases are not extended", consumerDir + "lease.go",
			"\tw.extend.arm(w.config.extendEvery())\n", "",
			rootPkg, "TestConsume_Lease",
		},
		{
			"leases that run out are not noticed", consumerDir + "lease.go",
			"\tw.lapse.arm(w.config.lookEvery())\n", "",
			rootPkg, "TestConsume_|TestHooks_LostLease",
		},
		{
			"workers of an idle queue stay", consumerDir + "staff.go",
			"s.leaving = min(s.spare, b.idle)", "s.leaving = 0",
			rootPkg, "TestConsume_IdleQueueCosts",
		},
		{
			"a worker starts all its queues at the same time", "worker.go",
			"\tcase <-learned:\n\tcase <-time.After(startWithin):\n", "\tdefault:\n",
			rootPkg, "TestWorker_Starts",
		},
		{
			"a caller that leaves does not let the next one poll", consumerDir + "bell.go",
			"\t\treturn\n\t}\n\tb.wakeFirst()\n", "\t\treturn\n\t}\n",
			rootPkg, "TestReceive_",
		},
		{
			"a caller that leaves with messages leaves the next poll for later", consumerDir + "bell.go",
			"func (b *Bell) begin() (heard uint64) {\n\tb.mu.Lock()\n\tdefer b.mu.Unlock()\n\tb.next = time.Now()\n",
			"func (b *Bell) begin() (heard uint64) {\n\tb.mu.Lock()\n\tdefer b.mu.Unlock()\n\tb.next = time.Now().Add(guardPoll)\n",
			rootPkg, "TestReceive_",
		},
		{
			"a hint during a poll is forgotten", consumerDir + "bell.go",
			"\tif b.heard == heard {\n\t\tb.next = time.Now().Add(wait)\n", "\tif true {\n\t\tb.next = time.Now().Add(wait)\n",
			rootPkg, "TestReceive_",
		},
		{
			"consumers that the store has lost do not join again", rosterFile,
			"\t\tif lost && !slices.Contains(r.joining, p) {", "\t\tif false {",
			consumerPkg, "TestRoster_",
		},
		{
			"a consumer that leaves during a beat stays known", rosterFile,
			"if request.TTL == 0 && r.ended() {", "if r.ended() {",
			consumerPkg, "TestRoster_",
		},
		{
			"duties that could not be read are not read again", rosterFile,
			"p.stale = p.stale || known", "p.stale = known",
			consumerPkg, "TestRoster_",
		},
		{
			"the duties of consumers are uneven", "internal/duty/duty.go",
			"a.loads[consumer] == least && a.full < more", "a.loads[consumer] == least && more > 0",
			"./internal/duty", "TestAssign_",
		},
		{
			"more duties move than need to", "internal/duty/duty.go",
			"\tif least > 0 || a.moved > 0 {", "\tif least > 0 {",
			"./internal/duty", "TestAssign_",
		},
		{
			"duties are not spread over consumers of many queues", "internal/duty/duty.go",
			"a.seeds[consumer] ^ (a.queue + ", "a.seeds[consumer] ^ (0 * a.queue + ",
			"./internal/duty", "TestAssign_",
		},
		{
			"the end of a subscription whose slot has moved is not noticed", "store/redisstore/line.go",
			"if c != nil && c.state == subscribed {", "if false {",
			redisPkg, "TestClusterWatch_FollowsAMovedSlot",
		},
		{
			"events of a Cluster go to all nodes", "store/redisstore/scripts.go",
			`"'PUBLISH'", "'SPUBLISH'"`, `"'PUBLISH'", "'PUBLISH'"`,
			redisPkg, "TestClusterWatch_EventsStay",
		},
		{
			"partitions that come to a queue later are not heard", "store/redisstore/known.go",
			"\ts.hub.grow(queue, settings.Partitions)\n", "",
			redisPkg, "TestClusterWatch_HearsPartitions",
		},
		{
			"a watch whose master is lost is not notified of the gap", "store/redisstore/line.go",
			"if arrived || !t.notified", "if arrived && !t.notified",
			redisPkg, "TestClusterWatch_SubscribesAgain|TestWatch_SubscribesAgain",
		},
		{
			"each channel has a connection of its own", "store/redisstore/hub.go",
			"\tl := h.lines[address]\n", "\taddress += c.name\n\tl := h.lines[address]\n",
			redisPkg, "TestClusterWatch_OneConnection",
		},
		{
			"a client that has fallen silent keeps its consumers", scriptsDir + "beat.lua",
			"if silent then clients_remove(silent, most) end", "",
			redisPkg, "TestConformance/Members",
		},
		{
			"a client that leaves keeps some of many consumers", scriptsDir + "beat.lua",
			"  left = clients_remove(client, most)", "  clients_remove(client, most)",
			redisPkg, "TestConformance/Members",
		},
		{
			"a table of duties is replaced by one of the same consumers", scriptsDir + "assign.lua",
			"if of == ARGV[2] and tonumber(size) >= tonumber(wanted) then return stored end", "local _ = of == size and wanted",
			redisPkg, "TestDuties_",
		},
		{
			"a table of duties of other consumers is taken", scriptsDir + "duties.lua",
			"if of ~= version or", "if not of or",
			redisPkg, "TestConformance/Members",
		},
		{
			"consumers on trial are ranked", scriptsDir + "lib/clients.lua",
			"    redis.call('ZADD', KEYS[6], 0, text)", "    redis.call('ZADD', KEYS[2], 0, text)",
			redisPkg, "TestConformance/Members",
		},
		{
			"consumers on trial are ranked in the embedded store", embeddedDir + "members.go",
			"\tq.trials = append(q.trials, member)\n", "\tq.all = append(q.all, member)\n",
			embeddedPkg, "TestConformance/Members",
		},
		{
			"a pinned consumer claims from all partitions", consumerDir + "config.go",
			"if c.Pinned != nil {", "if c.Pinned != nil && c.Partitions < 0 {",
			rootPkg, "TestConsume_Pinned",
		},
		{
			"a pinned consumer gets duties", consumerDir + "roster.go",
			"return !p.pinned && ", "return ",
			rootPkg, "TestConsume_Pinned",
		},
		{
			"hints reach the wrong fetchers of a pinned consumer", consumerDir + "fetch.go",
			"return cmp.Compare(f.partition.Index, p) })", "return cmp.Compare(f.partition.Index, p+1) })",
			rootPkg, "TestConsume_Pinned",
		},
	}
}
