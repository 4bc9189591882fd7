// Command dueq sends, receives and looks after delayed messages. See dueq --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // for the zones of recurring messages, where the system has none
)

func isSet(name string) bool {
	_, ok := os.LookupEnv(name)
	return ok
}

func main() {
	quiet()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the first signal ends ctx, the second the process
	os.Exit(run(ctx, os.Args[1:], console{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv, isSet: isSet}))
}
