package main

import "github.com/redis/go-redis/v9/logging" //nolint:depguard // see quiet

// quiet turns off the log of the Redis client, which is one for the whole process and has
// each failure that is retried. The error of the command and the log of the library have
// what matters. A library must not turn it off, but a program may.
func quiet() { logging.Disable() }
