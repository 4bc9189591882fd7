package mutants

// ofPushing are mistakes in how messages are posted to endpoints.
func ofPushing() []mutant {
	const suite = "TestHandler_|TestCheckAddress_|TestSignature_|TestRetryAfter_|TestTransport_"
	return []mutant{
		{
			"an answer that is no success acks", pushDir + "answer.go",
			"status < http.StatusMultipleChoices {", "status < http.StatusBadRequest {",
			pushPkg, suite,
		},
		{
			"an endpoint that is busy uses up attempts", pushDir + "answer.go",
			"return dueq.Snooze(wait, text)", "return dueq.RetryAfter(wait, errors.New(text))",
			pushPkg, suite,
		},
		{
			"an endpoint can put a message off for good", pushDir + "answer.go",
			"return min(max(until.Sub(now), minRetryAfter), maxRetryAfter), true", "return max(until.Sub(now), minRetryAfter), true",
			pushPkg, suite,
		},
		{
			"an answer is read to its end", pushDir + "answer.go",
			"io.LimitReader(response.Body, maxRead)", "io.LimitReader(response.Body, 100*maxRead)",
			pushPkg, suite,
		},
		{
			"a status that rejects is a failure", pushDir + "answer.go",
			"return dueq.Reject(errors.New(text))", "return errors.New(text)",
			pushPkg, suite,
		},
		{
			"the addresses of connections are not checked", pushDir + "reach.go",
			"return checkAddress(address, allowed) },", "_ = address; return nil },",
			pushPkg, suite,
		},
		{
			"an address of IPv4 in one of IPv6 is public", pushDir + "reach.go",
			"at.Addr().Unmap().WithZone(\"\")", "at.Addr().WithZone(\"\")",
			pushPkg, suite,
		},
		{
			"the metadata of a cloud can be reached", pushDir + "reach.go",
			"v4(169, 254, 0, 16),", "v4(169, 253, 0, 16),",
			pushPkg, suite,
		},
		{
			"producers choose headers of requests", pushDir + "request.go",
			"h.Add(headerPrefix+name, d.Headers[name])", "h.Add(name, d.Headers[name])",
			pushPkg, suite,
		},
		{
			"the time is not signed", pushDir + "request.go",
			"sum.Write([]byte(id + \".\" + at + \".\"))", "sum.Write([]byte(id + \".\" + at[:0] + \".\"))",
			pushPkg, suite,
		},
		{
			"only the first secret signs", pushDir + "request.go",
			"strings.Join(signatures, \" \")", "signatures[0]",
			pushPkg, suite,
		},
		{
			"requests come in bursts", pushDir + "pace.go",
			"\tp.next = at.Add(p.every)\n", "\tp.next = now.Add(p.every)\n",
			pushPkg, suite,
		},
		{
			"the error about a secret has it", pushDir + "push.go",
			"\t\treturn nil, fmt.Errorf(\"is not %s and base 64\", secretPrefix)\n", "\t\treturn nil, fmt.Errorf(\"is not %s and base 64\", text)\n",
			pushPkg, suite,
		},
		{
			"a target that has changed stays as it was", "cmd/dueq/pushing.go",
			"!reflect.DeepEqual(old.target, t)", "!reflect.DeepEqual(old.target.Queue, t.Queue)",
			"./cmd/dueq", "TestPushing_",
		},
		{
			"a queue without a target is posted on", "cmd/dueq/pushing.go",
			"\t\t\trunning.stop()\n\t\t\trunning.target", "\t\t\trunning.target",
			"./cmd/dueq", "TestPushing_",
		},
		{
			"an invalid file counts", "cmd/dueq/reread.go",
			"\tif err == nil {\n\t\tf.text, f.failed = text, \"\"", "\tif f.text = text; err == nil {\n\t\tf.text, f.failed = text, \"\"",
			"./cmd/dueq", "TestWatched_",
		},
		{
			"requests that wait keep a token that was revoked", "cmd/dueq/servefiles.go",
			"\t\tbefore.stop()\n", "\t\t_ = before\n",
			"./cmd/dueq", "TestAPI_",
		},
	}
}

// ofForecasts are mistakes in how due times are counted.
func ofForecasts() []mutant {
	return []mutant{
		{
			"a message that is due at the end of a span counts for the next", embeddedDir + "forecast.go",
			"(p.at - now - 1) / step", "(p.at - now) / step",
			rootPkg, "TestForecast_",
		},
		{
			"the last message of a step is counted twice", embeddedDir + "order.go",
			"return p.at == pos.at && p.e.id == pos.id || visit(p)", "return visit(p)",
			embeddedPkg, "TestConformance/Stats",
		},
		{
			"only the first messages are counted", embeddedDir + "forecast.go",
			"\t\t\tdone = false\n\t\t\treturn false\n", "\t\t\treturn false\n",
			embeddedPkg, "TestConformance/Stats",
		},
		{
			"messages that are due later are not counted", scriptsDir + "forecast.lua",
			"out[#out + 1] = redis.call('ZCOUNT', KEYS[4], string.format('(%.0f', from), '(+inf')", "out[#out + 1] = 0",
			redisPkg, "TestConformance/Stats",
		},
		{
			"spans overlap in Redis", scriptsDir + "forecast.lua",
			"  from = to\n", "",
			redisPkg, "TestConformance/Stats",
		},
	}
}

// ofEvents are mistakes in what readers of events are sent.
func ofEvents() []mutant {
	const suite = "TestEvents_"
	return []mutant{
		{
			"each reader looks at the store", httpDir + "feed.go",
			"\tif f.poller == nil {\n", "\tif f.poller == nil || f.readers > 0 {\n",
			httpPkg, suite,
		},
		{
			"the store is looked at without a reader", httpDir + "feed.go",
			"\t\tp.stop()\n\t\t<-p.ended\n", "",
			httpPkg, suite,
		},
		{
			"any number of readers is served", httpDir + "feed.go",
			"if f.readers >= maxReaders {", "if f.readers < 0 {",
			httpPkg, suite,
		},
		{
			"a reader keeps its place when it has left", httpDir + "feed.go",
			"\tf.readers--\n\tnone := f.readers == 0\n", "\tnone := f.readers == 1\n",
			httpPkg, suite,
		},
		{
			"a reader that takes nothing is kept", httpDir + "events.go",
			"SetWriteDeadline(time.Now().Add(transferTimeout))", "SetWriteDeadline(time.Now().Add(100 * transferTimeout))",
			httpPkg, suite,
		},
		{
			"queues of others are sent", httpDir + "events.go",
			"return c.allow(Read, queue) == nil && (", "return (",
			httpPkg, suite,
		},
		{
			"a queue that the token is not for can be named", httpDir + "events.go",
			"\treturn c.allow(Read, pattern)\n", "\treturn nil\n",
			httpPkg, suite,
		},
		{
			"what has not changed is sent again", httpDir + "events.go",
			"known == nil || !q.same(known) {", "known == nil || q.state != nil {",
			httpPkg, suite,
		},
		{
			"another message that is the oldest is no change", httpDir + "feed.go",
			" && s.since.Sub(before.since).Abs() < sinceChange", "",
			httpPkg, suite,
		},
		{
			"that messages wait for longer is a change", httpDir + "feed.go",
			"\t\tstate.OldestReadyMS = 0\n", "",
			httpPkg, suite,
		},
		{
			"a queue that is gone stays with readers", httpDir + "events.go",
			"\t\t\tchange.Removed = append(change.Removed, name)\n", "",
			httpPkg, suite,
		},
		{
			"a reader hears nothing while nothing changes", httpDir + "events.go",
			"time.Until(r.sentAt.Add(heartbeatEvery))", "heartbeatEvery",
			httpPkg, suite,
		},
		{
			"readers keep a server that stops", httpDir + "events.go",
			"\tdefer context.AfterFunc(c.Stopping, end)()\n\tfirst", "\tfirst",
			httpPkg, "TestEvents_EndWhenTheServerStops",
		},
	}
}

// ofTheServer are mistakes in what the server does with requests.
func ofTheServer() []mutant {
	return []mutant{
		{
			"a purge of unknown outcome is not audited", httpDir + "bulk.go",
			"unknown := err != nil && newProblem(err).Outcome != \"\"; {", "unknown := err != nil && n > 0; {",
			httpPkg, "TestAudit_",
		},
		{
			"a server that is busy does not say how many requests it serves", httpDir + "gate.go",
			"Limit: fmt.Sprintf(\"%d requests at a time\", e.most),", "",
			httpPkg, "TestLimits_Served",
		},
		{
			"half an answer looks like a whole one", httpDir + "log.go",
			"\t\t\t\tpanic(http.ErrAbortHandler)\n", "\t\t\t\treturn\n",
			httpPkg, "TestPanic_",
		},
		{
			"a panic in a goroutine of a request ends the process", httpDir + "queuepage.go",
			"\t\t\tdefer caught.catch()\n", "",
			httpPkg, "TestPanic_",
		},
		{
			"a panic while the store is looked at ends the process", httpDir + "feed.go",
			"if value := recover(); value != nil {", "if value := any(nil); value != nil {",
			httpPkg, "TestPanic_",
		},
		{
			"a request that is refused takes from the next", httpDir + "quota.go",
			"\tif l.AllowN(now, 1) {\n", "\tif r := l.ReserveN(now, 1); r.DelayFrom(now) == 0 {\n",
			httpPkg, "TestQuotas_|TestRate_",
		},
		{
			"a busy caller is forgotten because of others", httpDir + "quota.go",
			"\tl := q.old[caller]\n", "\tvar l *rate.Limiter\n",
			httpPkg, "TestQuotas_",
		},
		{
			"callers are remembered without end", httpDir + "quota.go",
			"if len(q.young) >= mostRated {", "if len(q.young) < 0 {",
			httpPkg, "TestQuotas_",
		},
		{
			"the rate of an address is that of the machine, too", httpDir + "quota.go",
			"if err != nil || at.Addr().Unmap().IsLoopback() {", "if err != nil && at.Addr().Unmap().IsLoopback() {",
			httpPkg, "TestRate_",
		},
		{
			"a session has no rate", httpDir + "auth.go",
			"return c.tokens.take(c.token.Name, time.Now())", "if c.route.scope == open {\n\t\treturn nil\n\t}\n\treturn c.tokens.take(c.token.Name, time.Now())",
			httpPkg, "TestRate_",
		},
		{
			"Retry-After is a second whatever the rate", httpDir + "problem.go",
			"strconv.Itoa(max(1, p.retryAfter))", "strconv.Itoa(max(1, p.retryAfter-p.retryAfter))",
			httpPkg, "TestRate_",
		},
		{
			"idle connections keep others out", "cmd/dueq/serveconnections.go",
			"oldest := c.idle.Front(); oldest != nil {", "oldest := c.idle.Front(); oldest != nil && c.most < 0 {",
			"./cmd/dueq", "TestConnections_",
		},
		{
			"any number of connections is open", "cmd/dueq/serve.go",
			"\tserver.ConnState = newConnections(s.maxConnections, log).changed\n", "",
			"./cmd/dueq", "TestServe_BoundsConnections",
		},
		{
			"tokens travel in the clear without a warning", "cmd/dueq/serve.go",
			"err == nil && !isLoopback(ctx, host)", "err != nil && !isLoopback(ctx, host)",
			"./cmd/dueq", "TestServe_TokensWithout",
		},
		{
			"a redrive is not audited", httpDir + "bulk.go",
			"case n > 0 || err == nil:", "case op == \"purge\":",
			httpPkg, "TestAudit_",
		},
		{
			"acks of a request that have failed count as done", httpDir + "settle.go",
			"\t\t\tfailed[of.ID] = e\n", "\t\t\t_ = of\n",
			httpPkg, "TestSettle_ManyAcks",
		},
		{
			"one of two acks of a message has no result", httpDir + "settle.go",
			"known := index[d.ID]; known {", "known := index[d.ID]; known && false {",
			httpPkg, "TestSettle_ManyAcks",
		},
		{
			"a problem has no value", httpDir + "problem.go",
			"p.Field, p.Value, p.Limit, p.Holder = strings.ReplaceAll(e.Field, \" \", \"_\"), e.Value, e.Limit, e.Holder",
			"p.Field, p.Limit, p.Holder = strings.ReplaceAll(e.Field, \" \", \"_\"), e.Limit, e.Holder",
			httpPkg, "TestProblem_",
		},
		{
			"any number of requests is served", httpDir + "gate.go",
			"g.in.Add(1) > g.most {", "g.in.Add(1) < 0 {",
			httpPkg, "TestLimits_(Waiting|Served)",
		},
		{
			"a request that has ended counts", httpDir + "gate.go",
			"\t\tc.in.in.Add(-1)\n", "",
			httpPkg, "TestLimits_(Waiting|Served)",
		},
		{
			"a consumer on duty does not show it over HTTP", httpDir + "members.go",
			"append([]int{}, m.OnDuty...)", "append([]int{}, m.OnDuty[:0]...)",
			httpPkg, "TestMembers_",
		},
		{
			"a batch of one message has a call of its own", "sendbatch.go",
			"\tif len(messages) == 1 {\n", "\tif len(messages) == 0 {\n",
			rootPkg, "TestSendBatch_OneMessage",
		},
	}
}
