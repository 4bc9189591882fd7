package mutants

// ofGrowing are mistakes in what happens while a queue gets more partitions.
func ofGrowing() []mutant {
	const suite, ends = "TestGrowing_(Keys|Moved|Redrive|Next|Model)", "TestGrowing_EndsWhenNoMovedNameIsLeft"
	return []mutant{
		{
			"the old partition of a key is not asked", "send.go",
			"if m.OnlyHeld = route.Moves(m, settings.From, settings.Partitions); m.OnlyHeld {", "if m.OnlyHeld {",
			rootPkg, suite,
		},
		{
			"the old partition of a key is not asked by calls with the key", "queue.go",
			"if !route.Moves(m, s.From, s.Partitions) {", "if s.From >= 0 {",
			rootPkg, suite,
		},
		{
			"a dead message in the old partition hides the live one in the new", "manage.go",
			"			code = store.CodeDead\n", "			return store.CodeDead, nil\n",
			rootPkg, suite,
		},
		{
			"a key that is not held is stored in the old partition", scriptsDir + "lib/accept.lua",
			"if only and not holder and freed == 0 then return CODE_MOVED end", "",
			redisPkg, "TestConformance/Growing",
		},
		{
			"a key that is not held is stored in the old partition of a file", embeddedDir + "push.go",
			"if m.OnlyHeld && alone &&", "if m.OnlyHeld && !alone &&",
			embeddedPkg, "TestConformance/Growing",
		},
		{
			"messages with keys are redriven where they are", scriptsDir + "redrive.lua",
			"moving = now[1] and now[2] ~= ARGV[7]", "moving = false",
			redisPkg, "TestConformance/Growing",
		},
		{
			"messages with keys are redriven where they are in a file", embeddedDir + "redrive.go",
			"e.keyed() && s.From != 0 && of != s.Partitions", "e.keyed() && s.From < 0",
			embeddedPkg, "TestConformance/Growing",
		},
		{
			"a Next that was routed before the growth is stored", scriptsDir + "next.lua",
			"  if moved then return CODE_MOVED end\n", "",
			redisPkg, "TestConformance/Growing",
		},
		{
			"the growth ends while a message with a moved key is there", consumerDir + "growth.go",
			"if route.Moves(&store.Message{Key: key}, s.From, s.Partitions) {", "if s.From < 0 {",
			rootPkg, ends,
		},
		{
			"the growth ends while a message with a moved dedup id is there", consumerDir + "growth.go",
			"		if there || err != nil {\n			return w, err\n", "		if there && err != nil {\n			return w, err\n",
			rootPkg, ends,
		},
		{
			"the growth ends while a moved dedup id is remembered", consumerDir + "growth.go",
			"|| stats[0].Remembered > 0 {", "{",
			rootPkg, ends,
		},
		{
			"a dead message that was moved stays where it was", "redrive.go",
			"store.CancelRequest{Caller: caller, Number: number, Refs: refs, Dead: true}", "store.CancelRequest{Caller: caller, Number: number, Refs: refs}",
			rootPkg, "TestGrowing_Redrive",
		},
		{
			"what is sent again during a growth may be stored twice", "internal/producer/recall.go",
			"messages[i].Of, messages[i].OnlyHeld = 0, true", "messages[i].Of = 0",
			"./internal/producer", "TestRecall_",
		},
	}
}
