package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/dueq-dev/dueq/bench/driver"
	"github.com/dueq-dev/dueq/bench/peer"
	"github.com/dueq-dev/dueq/bench/system"
	"github.com/dueq-dev/dueq/bench/workload"
)

// driverCommand returns the command of a queue's driver: a program of its own, or this one.
func driverCommand(e peer.Entry, env peer.Env) ([]string, error) {
	if e.Command != nil {
		return e.Command(env), nil
	}
	self, err := os.Executable()
	return []string{self, "driver", "-system", e.Name, "-redis", env.RedisSocket, "-rabbit", env.RabbitURL}, err
}

// drive is the main program of a driver process.
func drive(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("driver", flag.ContinueOnError)
	name := flags.String("system", "", "")
	var env peer.Env
	flags.StringVar(&env.RedisSocket, "redis", "", "")
	flags.StringVar(&env.RabbitURL, "rabbit", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, e := range system.All("") {
		if e.Name != *name || e.Open == nil {
			continue
		}
		q, err := e.Open(ctx, env)
		if err != nil {
			return err
		}
		return errors.Join(driver.Serve(ctx, q, os.Stdin, os.Stdout), q.Close())
	}
	return fmt.Errorf("no queue is named %q", *name)
}

func list(w io.Writer) error {
	for _, e := range system.All("") {
		if _, err := fmt.Fprintf(w, "%-16s %s\n", e.Name, e.Title); err != nil {
			return err
		}
	}
	for _, wl := range workload.All() {
		if _, err := fmt.Fprintln(w, "workload", wl.Name); err != nil {
			return err
		}
	}
	return nil
}

// chosen returns the entries with the given names, all without names, and an error for unknown
// names.
func chosen[T any](all []T, name func(T) string, names []string) ([]T, error) {
	if len(names) == 0 {
		return all, nil
	}
	var out []T
	for _, n := range names {
		i := slices.IndexFunc(all, func(t T) bool { return name(t) == n })
		if i < 0 {
			return nil, fmt.Errorf("%q is unknown: peers list prints the names", n)
		}
		out = append(out, all[i])
	}
	return out, nil
}
