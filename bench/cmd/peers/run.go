package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dueq-dev/dueq/bench/driver"
	"github.com/dueq-dev/dueq/bench/host"
	"github.com/dueq-dev/dueq/bench/peer"
	"github.com/dueq-dev/dueq/bench/report"
	"github.com/dueq-dev/dueq/bench/system"
	"github.com/dueq-dev/dueq/bench/workload"
	"github.com/dueq-dev/dueq/internal/measure"
)

// options of a run.
type options struct {
	quick        bool
	rounds       int
	safetyRounds int
	systems      string
	workloads    string
	out          string
	page         string
	images       string
	dir          string
}

func parseRun(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.BoolVar(&o.quick, "quick", false, "a smoke run: one round of small counts, whose figures mean nothing")
	flags.IntVar(&o.rounds, "rounds", 5, "rounds of the measurements")
	flags.IntVar(&o.safetyRounds, "safety-rounds", 2, "rounds of the workloads that count faults, and of memory")
	flags.StringVar(&o.systems, "systems", "", "queues, separated by commas (default all)")
	flags.StringVar(&o.workloads, "workloads", "", "workloads, separated by commas (default all)")
	flags.StringVar(&o.out, "out", "", "file of the results (default results/<date>.json, with -quick results/quick.json)")
	flags.StringVar(&o.page, "page", "", "the page to write of a whole run, such as ../docs/COMPARISON.md (default none: see peers report)")
	flags.StringVar(&o.images, "images", "../docs/images", "directory for the plots of the page")
	flags.StringVar(&o.dir, "dir", ".", "directory of this module")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.quick {
		o.rounds, o.safetyRounds = 1, 1
	}
	if o.out == "" {
		o.out = filepath.Join(o.dir, "results", time.Now().UTC().Format("2006-01-02")+".json")
		if o.quick {
			o.out = filepath.Join(o.dir, "results", "quick.json")
		}
	}
	return o, nil
}

// runner is a run in progress.
type runner struct {
	options
	entries   []peer.Entry
	workloads []workload.Workload
	result    *report.Result
	servers   map[peer.Server]host.Server
	redis     *host.Redis
	env       peer.Env
}

// run makes all measurements. It saves the result after every sample, so that an interrupted run has
// one, too.
func run(ctx context.Context, args []string) (err error) {
	o, err := parseRun(args)
	if err != nil {
		return err
	}
	r, err := newRunner(o, args)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	defer func() { err = errors.Join(err, r.stopServers()) }()
	if err := r.startServers(ctx, dir); err != nil {
		return err
	}
	for round := range o.rounds {
		if err := r.round(ctx, round); err != nil {
			return err
		}
	}
	r.result.Finished = true
	if err := r.result.Save(o.out); err != nil {
		return err
	}
	logf("results: %s", o.out)
	if o.page == "" {
		return nil
	}
	return report.Write(r.result, o.page, o.images, "")
}

func newRunner(o options, args []string) (*runner, error) {
	script, err := filepath.Abs(filepath.Join(o.dir, "bullmq", "driver.js"))
	if err != nil {
		return nil, err
	}
	r := &runner{options: o, servers: map[peer.Server]host.Server{peer.None: host.None{}}}
	r.entries, err = chosen(system.All(script), func(e peer.Entry) string { return e.Name }, split(o.systems))
	if err != nil {
		return nil, err
	}
	r.workloads, err = chosen(workload.All(), func(w workload.Workload) string { return w.Name }, split(o.workloads))
	if err != nil {
		return nil, err
	}
	r.result = &report.Result{
		Command: strings.TrimSpace("peers run " + strings.Join(args, " ")),
		Date:    time.Now().UTC().Truncate(time.Second),
		Quick:   o.quick, Rounds: o.rounds, Scale: workload.Full(),
		Machine: host.ReadMachine(), Versions: host.Versions(o.dir),
	}
	if o.quick {
		r.result.Scale = workload.Quick()
	}
	return r, r.countLines()
}

func (r *runner) countLines() error {
	for _, e := range r.entries {
		lines, err := report.Lines(r.dir, e.Info)
		if err != nil {
			return fmt.Errorf("count the lines of %s (is `npm ci` in bullmq/ done?): %w", e.Name, err)
		}
		r.result.Systems = append(r.result.Systems, report.System{Info: e.Info, Lines: lines})
	}
	return nil
}

// startServers starts what the chosen queues need.
func (r *runner) startServers(ctx context.Context, dir string) error {
	for _, e := range r.entries {
		if r.servers[e.Server] != nil {
			continue
		}
		s, err := r.startServer(ctx, dir, e.Server)
		if err != nil {
			return err
		}
		r.servers[e.Server] = s
		if e.Server == peer.None {
			continue
		}
		if r.result.Versions[string(e.Server)], err = s.Version(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) startServer(ctx context.Context, dir string, kind peer.Server) (host.Server, error) {
	if kind == peer.Rabbit {
		s, err := host.StartRabbit(ctx, dir, system.RabbitWaiting, system.RabbitWork)
		if err != nil {
			return nil, err
		}
		r.env.RabbitURL = s.URL
		return s, nil
	}
	s, err := host.StartRedis(ctx, dir)
	if err != nil {
		return nil, err
	}
	r.redis, r.env.RedisSocket = s, s.Socket
	return s, nil
}

func (r *runner) stopServers() error {
	errs := make([]error, 0, len(r.servers))
	for _, s := range r.servers {
		errs = append(errs, s.Stop())
	}
	return errors.Join(errs...)
}

// round runs every workload on every queue. Within a workload the queues are measured one after the
// other, beginning with another queue in each round, so that changes on the machine during a run
// affect all alike.
func (r *runner) round(ctx context.Context, round int) error {
	for _, w := range r.workloads {
		if (w.Safety || w.Steady) && round >= r.safetyRounds {
			continue
		}
		for _, e := range measure.Rotate(round, r.entries) {
			sample := r.sample(ctx, w, e, round)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			r.result.Samples = append(r.result.Samples, sample)
			logf("%d/%d %-10s %-16s %s", round+1, r.rounds, w.Name, e.Name, oneLine(sample))
			if err := r.result.Save(r.out); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *runner) sample(ctx context.Context, w workload.Workload, e peer.Entry, round int) report.Sample {
	s := report.Sample{Round: round + 1, Workload: w.Name, System: e.Name, Excuse: w.Excuse(e.Info)}
	if s.Excuse != "" {
		return s
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.result.Scale.Timeout,
		fmt.Errorf("not finished after %v", r.result.Scale.Timeout))
	defer cancel()
	start := time.Now()
	values, err := r.measure(ctx, w, e)
	s.Values, s.Seconds = values, time.Since(start).Seconds()
	if err != nil {
		s.Error = shortened(err.Error())
	}
	return s
}

func (r *runner) measure(ctx context.Context, w workload.Workload, e peer.Entry) (workload.Values, error) {
	server := r.servers[e.Server]
	if err := server.Reset(ctx); err != nil {
		return nil, err
	}
	b := &workload.Bench{Info: e.Info, Server: server, Scale: r.result.Scale}
	if e.Server == peer.Redis {
		b.Redis = r.redis
	}
	b.Driver = func(done func(driver.Done)) (*driver.Process, error) {
		command, err := driverCommand(e, r.env)
		if err != nil {
			return nil, err
		}
		return driver.Start(command, r.dir, done)
	}
	return w.Run(ctx, b)
}
