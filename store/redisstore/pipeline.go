package redisstore

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/internal/coalesce"
)

// Calls of one script that are made at the same time and go to one server share
// pipelines: with many partitions, what costs most is not the script but its way through
// two kernels.
const (
	// directCalls are under way, each on a connection of its own, before what comes next
	// waits for one of them and shares a pipeline.
	directCalls = 3
	// Nobody gets a reply of a pipeline before the last one is back, so it is kept short.
	pipelineCalls = 16
	pipelineBytes = 1 << 20
)

// pipelines has a coalescer of calls for each script and server, so that no call waits for
// another server, and no small call for large ones of another kind.
type pipelines struct {
	rdb        redis.UniversalClient
	cluster    clustered // nil: everything goes to one server
	coalescers sync.Map  // destination -> *coalescer; as many as there are scripts and have been masters
}

type destination struct{ server, script string }

type coalescer = coalesce.Coalescer[redis.Cmder, error]

func newPipelines(rdb redis.UniversalClient) *pipelines {
	p := &pipelines{rdb: rdb}
	p.cluster, _ = rdb.(clustered)
	return p
}

// do executes cmd, the script's on key, together with what else waits for it and the
// server. After ctx has ended nobody may look at cmd: it may be under way still.
func (p *pipelines) do(ctx context.Context, script, key string, cmd onceCmd) error {
	to := destination{script: script}
	if p.cluster != nil {
		master, err := p.cluster.MasterForKey(ctx, key)
		if err != nil { // the state of the Cluster is not known
			return p.rdb.Process(ctx, cmd)
		}
		to.server = master.Options().Addr
	}
	item := redis.Cmder(cmd)
	err, status := p.coalescer(to).Do(ctx, &item)
	if status != coalesce.Completed {
		return ctx.Err()
	}
	return err
}

func (p *pipelines) coalescer(to destination) *coalescer {
	c, ok := p.coalescers.Load(to)
	if !ok {
		c, _ = p.coalescers.LoadOrStore(to, coalesce.New(coalesce.Config[redis.Cmder, error]{
			Call: p.call, MaxInFlight: directCalls, MaxItems: pipelineCalls, MaxBytes: pipelineBytes, Size: commandSize,
			Context: context.WithoutCancel,
		}))
	}
	return c.(*coalescer)
}

// call executes commands, each of which is a onceCmd, so that go-redis repeats none, and
// returns the error of each. A Cluster client follows redirections in pipelines, too.
func (p *pipelines) call(ctx context.Context, cmds []redis.Cmder) []error {
	errs := make([]error, len(cmds))
	if len(cmds) == 1 {
		errs[0] = p.rdb.Process(ctx, cmds[0])
		return errs
	}
	pipe := p.rdb.Pipeline()
	for _, cmd := range cmds {
		_ = pipe.Process(ctx, cmd)
	}
	_, failed := pipe.Exec(ctx)
	for i, cmd := range cmds {
		errs[i] = cmd.Err()
	}
	if failed != nil && errors.Join(errs...) == nil { // a hook of the client refused all
		for i := range errs {
			errs[i] = failed
		}
	}
	return errs
}

// commandSize is about what a command takes on the wire.
func commandSize(cmd *redis.Cmder) int {
	const usual = 16 // bytes of a number, and of what frames an argument
	size := 0
	for _, arg := range (*cmd).Args() {
		size += usual
		switch arg := arg.(type) {
		case string:
			size += len(arg)
		case *string:
			size += len(*arg)
		}
	}
	return size
}
