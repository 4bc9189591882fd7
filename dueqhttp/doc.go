// Package dueqhttp serves the queues of a [dueq.Client] over HTTP, as JSON, for programs in any
// language.
//
//	handler, err := dueqhttp.Handler(client, &dueqhttp.Options{Tokens: tokens})
//	err = http.ListenAndServe("127.0.0.1:7373", handler)
//
// The command dueq serve is a server with this handler. An application can mount it, too, so that
// a store which it has open can be looked at while it runs.
//
// docs/HTTP.md describes the API for its users, and GET /v1/openapi.json for programs.
package dueqhttp
