package mutants

// ofDeleting are mistakes in how the embedded engine deletes a queue.
func ofDeleting() []mutant {
	const suite = "TestConformance/DeleteQueue|TestDeleteQueue_|TestPush_QueueIsDeletedMeanwhile"
	return []mutant{
		{
			"only the messages of the last partition keep a queue from being deleted", embeddedDir + "deletequeue.go",
			"messages += p.byID.len()", "messages = p.byID.len()",
			embeddedPkg, suite,
		},
		{
			"a queue with one message is deleted", embeddedDir + "deletequeue.go",
			"if messages > 0 && !force {", "if messages > 1 && !force {",
			embeddedPkg, "TestConformance/DeleteQueue/Refused",
		},
		{
			"a deletion is not written down", embeddedDir + "deletequeue.go",
			"\t\ts.log.Append(appendDeleted(name))\n", "\t\t_ = appendDeleted\n",
			embeddedPkg, "TestFileConformance/DeleteQueue",
		},
		{
			"a partition of a deleted queue writes on", embeddedDir + "deletequeue.go",
			"\t\tp.journal.vanished = true\n", "\t\t_ = p.journal\n",
			embeddedPkg, suite,
		},
		{
			"a push to a partition that was deleted is lost", embeddedDir + "deletequeue.go",
			"\tp.vanished = true\n", "\t_ = p.vanished\n",
			embeddedPkg, suite,
		},
		{
			"a deletion is returned before it is durable", embeddedDir + "deletequeue.go",
			"return logError(s.log.Kept(ctx, s.log.End()))", "return ctx.Err()",
			embeddedPkg, suite,
		},
		{
			"messages of a deleted queue are counted for good", embeddedDir + "deletequeue.go",
			"\t\tall.each(s.live.drop)\n", "\t\t_ = all\n",
			embeddedPkg, suite,
		},
		{
			"done messages of a deleted queue are counted for good", embeddedDir + "deletequeue.go",
			"\tk.done.each(visit)\n", "",
			embeddedPkg, suite,
		},
		{
			"messages of a deleted queue are counted when the store is opened", embeddedDir + "deletequeue.go",
			"\t\tp.stock().each(s.live.drop)\n", "\t\t_ = p\n",
			embeddedPkg, suite,
		},
	}
}

// ofDeletingInRedis are mistakes in the steps in which a queue in Redis is deleted.
func ofDeletingInRedis() []mutant {
	const suite = "TestConformance/DeleteQueue|TestDeletePartition_|TestDeleteQueue_(Leaves|Old|Late|Interrupted|Message)|TestPush_WaitsForADeletion"
	return []mutant{
		{
			"one partition is looked at before a deletion", redisDir + "deletequeue.go",
			"make([]question, d.extent)", "make([]question, 1)",
			redisPkg, suite,
		},
		{
			"the second of two partitions is not removed", redisDir + "deletequeue.go",
			"\tfor i := range d.extent {\n\t\tp := d.partition(i)\n", "\tfor i := range 1 {\n\t\tp := d.partition(i)\n",
			redisPkg, suite,
		},
		{
			"a partition is removed before it is known that all are empty", redisDir + "deletequeue.go",
			"\tif err := d.wantEmpty(ctx); err != nil {\n\t\treturn err\n\t}\n\tversion, ttl", "\tversion, ttl",
			redisPkg, suite,
		},
		{
			"pushes are kept out of the first partition only", redisDir + "deletequeue.go",
			"\tfor i := range d.extent {\n\t\tfound, err := d.configurePartition", "\tfor i := range 1 {\n\t\tfound, err := d.configurePartition",
			redisPkg, suite,
		},
		{
			"a deletion that was refused keeps pushes out", redisDir + "deletequeue.go",
			"\t\td.undo(ctx)\n", "",
			redisPkg, suite,
		},
		{
			"the name of a deleted queue stays in the list", redisDir + "deletequeue.go",
			"\ts.forget(queue, d.settings.Version+1)\n\treturn s.unlist(ctx, queue)\n", "\ts.forget(queue, d.settings.Version+1)\n\treturn nil\n",
			redisPkg, suite,
		},
		{
			"a partition with messages is removed", scriptsDir + "deletepartition.lua",
			"if ARGV[4] == '0' and messages > 0 then return 1 end\n", "",
			redisPkg, suite,
		},
		{
			"done messages of a deleted queue stay", scriptsDir + "deletepartition.lua",
			", KEYS[5], KEYS[7], KEYS[8])", ", KEYS[5])",
			redisPkg, suite,
		},
		{
			"remembered calls of a deleted queue stay for good", scriptsDir + "deletepartition.lua",
			"redis.call('EXPIRE', KEYS[6], ARGV[5])\n", "",
			redisPkg, suite,
		},
		{
			"what is left of a partition has the version of the deletion", scriptsDir + "deletepartition.lua",
			"string.format('%d', ARGV[3] + 1)", "ARGV[3]",
			redisPkg, suite,
		},
		{
			"a partition that is made again expires", scriptsDir + "lib/create.lua",
			"  redis.call('PERSIST', KEYS[1])\n", "",
			redisPkg, suite,
		},
		{
			"settings that follow on a deletion have the version of what it removed", scriptsDir + "settings.lua",
			"    step = 2 -- the version between is that of what was removed already\n", "",
			redisPkg, suite,
		},
		{
			"a deletion is given up at once", scriptsDir + "settings.lua",
			"tonumber(m[4 + i]) <= clock_now then to = '0' end", "tonumber(m[4 + i]) > 0 then to = '0' end",
			redisPkg, suite,
		},
	}
}
