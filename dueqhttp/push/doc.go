// Package push delivers messages to an HTTP endpoint: [Handler] returns a handler that posts each
// message, for [dueq.Queue.Consume] and [dueq.Worker.Handle]. Its requests are signed as Standard
// Webhooks (https://www.standardwebhooks.com) describes, and reach public addresses only, unless
// others are allowed.
//
// The command "dueq serve --targets" does the same without a program.
package push
