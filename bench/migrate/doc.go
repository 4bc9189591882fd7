// Package migrate tests "dueq migrate" with queues that the real libraries have written, and
// records their keys for the tests of internal/migrate:
//
//	go test ./migrate -update
package migrate
