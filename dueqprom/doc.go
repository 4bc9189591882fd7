// Package dueqprom exports metrics of dueq to Prometheus, as collectors of client_golang.
//
//	metrics, err := dueqprom.NewMetrics(nil) // what this process does
//	client, err := dueq.Open(ctx, url, &dueq.Options{Hooks: metrics.Hooks()})
//	registry.MustRegister(metrics)
//
//	queues, err := dueqprom.NewQueues(client, nil) // what is in the store
//	registry.MustRegister(queues)
//
// [Metrics] has what one process does: sends, lateness, time of handlers, failures, calls of the
// store. Every process that uses dueq registers one.
//
// [Queues] has the state of the queues in the store, which is the same for all processes. One
// process registers it, or each instance of a service that is not scaled; the metrics of "dueq
// serve" are the same. If several do, queries take max by (queue) over the instances.
//
// # Series
//
// All labels but queue have a small fixed set of values. The number of values of queue is bounded
// by MaxQueues of the options: all other queues share the value "(other)", which no queue can
// have as its name. So names that callers choose cannot fill the memory of the process or of
// Prometheus.
package dueqprom
