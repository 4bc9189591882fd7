package mutants

// ofRemoteStores are mistakes in a store behind a server, in the server, and in its socket.
func ofRemoteStores() []mutant {
	return []mutant{
		{
			"what the server warns of is fine for a remote store", httpDir + "description.go",
			"dueq.FindingWarn: store.Warn", "dueq.FindingWarn: store.Fine",
			remotePkg, "TestDescribe_",
		},
		{
			"a repeated claim is not marked", remoteDir + "port.go",
			"r.Again = r.Again || try > 0", "r.Again = r.Again && try > 0",
			remotePkg, "TestClaim_RepetitionIsMarked",
		},
		{
			"a call whose answer is lost is not repeated", remoteDir + "call.go",
			"\tif err != nil {\n\t\treturn !errors.Is(err, store.ErrInvalid), err\n\t}", "\tif err != nil {\n\t\treturn false, err\n\t}",
			remotePkg, "TestConsume_AnswersGetLost|TestClaim_Repetition",
		},
		{
			"the page of another program is an answer of the store", remoteDir + "problem.go",
			"\tif response.Header.Get(wire.Answer) == \"\" {", "\tif response.Header.Get(wire.Answer) == \"x\" {",
			remotePkg, "TestCall_ErrorsOfTheServer",
		},
		{
			"an answer of 200 from another program is believed", remoteDir + "call.go",
			"response.StatusCode != http.StatusOK || response.Header.Get(wire.Answer) == \"\"", "response.StatusCode != http.StatusOK",
			remotePkg, "TestCall_ErrorsOfTheServer",
		},
		{
			"the value and the limit get lost on their way", remoteDir + "problem.go",
			"Value: p.Value, Limit: p.Limit, ", "",
			remotePkg, "TestCall_ErrorsOfTheServer",
		},
		{
			"a store that has failed is asked again and again", remoteDir + "problem.go",
			"return p.Code != \"failed\", fmt", "return true, fmt",
			remotePkg, "TestCall_ErrorsOfTheServer",
		},
		{
			"a redirection gets the token", remoteDir + "store.go",
			"{ return http.ErrUseLastResponse }", "{ return nil }",
			remotePkg, "TestCall_(TokenStays|ErrorsOfTheServer)",
		},
		{
			"settings of a deleted queue are kept", remoteDir + "known.go",
			"\t\t\tk.Store(nil)\n", "\t\t\t_ = k\n",
			remotePkg, "TestKnown_|TestConformance/DeleteQueue",
		},
		{
			"settings that another client changed are not learned", remoteDir + "known.go",
			"have != nil && have.Version >= found.Version ||", "have != nil ||",
			remotePkg, "TestKnown_",
		},
		{
			"the end of a stream of events is not announced", remoteDir + "watch.go",
			"\tnotify(store.Event{Kind: store.EventGap})\n", "",
			remotePkg, "TestWatch_StreamBreaks",
		},
		{
			"a slow caller does not learn that it has missed events", httpDir + "storewatch.go",
			"s.pending, e = s.pending[:0], store.Event{Kind: store.EventResync}", "s.pending = s.pending[:0]",
			remotePkg, "TestWatch_HeartbeatsAndSlowCallers",
		},
		{
			"a stream of events has no heartbeat", httpDir + "storewatch.go",
			"\t\tcase <-beat.C:\n\t\t}\n", "\t\tcase <-beat.C:\n\t\t\tcontinue\n\t\t}\n",
			remotePkg, "TestWatch_HeartbeatsAndSlowCallers",
		},
		{
			"a token for some queues is enough for the whole store", httpDir + "store.go",
			"if c.token != nil && len(c.token.Queues) > 0 {", "if c.token != nil && len(c.token.Queues) > 1 {",
			httpPkg, "TestStore_NeedsAdminForAllQueues",
		},
		{
			"a read-only server changes its store", httpDir + "store.go",
			"if c.ReadOnly && !m.reads {", "if c.ReadOnly && m.serve == nil {",
			httpPkg, "TestStore_ReadOnly",
		},
		{
			"a read-only server changes settings", httpDir + "store.go",
			"if c.ReadOnly && !r.Request.Reads() {", "if c.ReadOnly && r.Request.Create {",
			httpPkg, "TestStore_ReadOnly",
		},
		{
			"others can connect to the socket of a directory", "internal/socket/socket.go",
			"\tmode    = 0o600\n", "\tmode    = 0o666\n",
			httpPkg, "TestListenSocket_OfADirectory",
		},
		{
			"the socket stays when its server is closed", "internal/socket/socket.go",
			"\t\terr = os.Remove(l.path)\n", "\t\terr = nil\n",
			httpPkg, "TestListenSocket_OfADirectory",
		},
		{
			"a socket that was left behind keeps a directory from being used", "internal/socket/socket.go",
			"\tif err != nil {\n\t\treturn \"\"\n\t}\n\t_ = conn.Close()", "\tif err != nil {\n\t\treturn \"http+unix:\" + path\n\t}\n\t_ = conn.Close()",
			"./cmd/dueq", "TestServe_SocketOfAKilledProcess",
		},
	}
}
