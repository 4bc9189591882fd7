// Command peers measures delayed queues side by side on one machine and writes a report. README.md of
// this module says how to use it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const usage = `usage:
  peers run [flags]      measure, write results and a page (peers run -h)
  peers report [flags]   write the page of earlier results again (peers report -h)
  peers list             list queues and workloads
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has been called
	}
}

func command(ctx context.Context, args []string) error {
	if len(args) == 0 {
		args = []string{"help"}
	}
	switch args[0] {
	case "run":
		return run(ctx, args[1:])
	case "report":
		return rewrite(args[1:])
	case "list":
		return list(os.Stdout)
	case "driver": // run starts one for each queue and process
		return drive(ctx, args[1:])
	default:
		fmt.Fprint(os.Stderr, usage)
		return nil
	}
}
