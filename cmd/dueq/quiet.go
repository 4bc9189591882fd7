package main

import "github.com/redis/go-redis/v9/logging" //nolint:depguard // see quiet

// quiet keeps the Redis client, which has a log for the whole process, from writing to
// standard error whatever fails and is tried again. What matters is in the error that a
// command ends with, or in the library's own log. Only a program may decide that, not a
// library.
func quiet() { logging.Disable() }
