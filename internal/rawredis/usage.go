package rawredis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Usage is what a server, or all masters of a Cluster, have used since they started.
type Usage struct {
	CPU      time.Duration // user and system, of all its threads
	Executed int64         // commands, those inside scripts too
	Sent     int64         // commands that only clients send
	In, Out  int64         // bytes over the network
}

// Since returns what was used between two readings, without the reading itself.
func (u Usage) Since(before Reading) Usage {
	return Usage{
		CPU:      u.CPU - before.CPU,
		Executed: u.Executed - before.Executed - before.servers,
		Sent:     u.Sent - before.Sent - before.servers,
		In:       u.In - before.In - before.servers*int64(len(infoCall)),
		Out:      u.Out - before.Out - int64(before.size),
	}
}

// Reading is what INFO says at one moment. Of a Cluster it has the sums of all masters, but Free
// is that of the master with the least.
type Reading struct {
	Usage
	Memory  int64  // bytes in use, without the buffers of clients
	Free    int64  // bytes that may still be used: up to maxmemory, or else what the machine has
	Freeing int64  // objects that are still to be freed in the background
	Version string // "redis 7.0.15"
	size    int    // bytes of the replies
	servers int64  // how many have answered
}

// with returns the reading of r's servers and another.
func (r Reading) with(other Reading) Reading {
	if r.servers == 0 {
		return other
	}
	r.CPU += other.CPU
	r.Executed += other.Executed
	r.Sent += other.Sent
	r.In += other.In
	r.Out += other.Out
	r.Memory += other.Memory
	r.Free = min(r.Free, other.Free)
	r.Freeing += other.Freeing
	r.size += other.size
	r.servers += other.servers
	return r
}

// infoCall is what is sent for a Reading.
const infoCall = "*2\r\n$4\r\ninfo\r\n$3\r\nall\r\n"

// Read asks the server for everything.
func (s *Server) Read(ctx context.Context) (Reading, error) {
	all, err := s.info(ctx, "all")
	if err != nil {
		return Reading{}, fmt.Errorf("ask the server what it has used: %w", err)
	}
	return all, nil
}

// CPU asks the server for its CPU time only, which costs it much less than Read: for
// measurements that last milliseconds.
func (s *Server) CPU(ctx context.Context) (time.Duration, error) {
	all, err := s.info(ctx, "cpu")
	if err != nil {
		return 0, fmt.Errorf("ask the server for its CPU time: %w", err)
	}
	return all.CPU, nil
}

func (s *Server) info(ctx context.Context, section string) (Reading, error) {
	var all Reading
	err := gather(ctx, s, func(ctx context.Context, rdb *redis.Client) (Reading, error) {
		text, err := rdb.Info(ctx, section).Result()
		if err != nil {
			return Reading{}, err
		}
		return parse(text)
	}, func(r Reading) { all = all.with(r) })
	return all, err
}

// Rest waits until the server has freed what was removed, so that it does not count
// for what comes next. It gives up silently after a while: other users of the server may
// remove keys all the time.
func (s *Server) Rest(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		r, err := s.Read(ctx)
		if err != nil || r.Freeing == 0 {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// parse reads the lines "field:value" of INFO.
func parse(text string) (Reading, error) {
	fields := map[string]string{}
	r := Reading{size: len(text) + len("$00000\r\n\r\n"), servers: 1}
	for line := range strings.SplitSeq(text, "\r\n") {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		if command, ok := strings.CutPrefix(name, "cmdstat_"); ok {
			r.count(command, value)
			continue
		}
		fields[name] = value
	}
	whole := func(name string) int64 { n, _ := strconv.ParseInt(fields[name], 10, 64); return n } // 0 where a version lacks it
	for _, name := range [...]string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := strconv.ParseFloat(fields[name], 64)
		if err != nil {
			return r, fmt.Errorf("INFO has no %s", name)
		}
		r.CPU += time.Duration(seconds * float64(time.Second))
	}
	r.In, r.Out = whole("total_net_input_bytes"), whole("total_net_output_bytes")
	r.Memory, r.Freeing = whole("used_memory")-whole("mem_clients_normal"), whole("lazyfree_pending_objects")
	limit := whole("maxmemory")
	if limit == 0 {
		limit = whole("total_system_memory")
	}
	r.Free = limit - whole("used_memory")
	r.Version = "redis " + fields["redis_version"]
	if v := fields["valkey_version"]; v != "" {
		r.Version = "valkey " + v
	}
	return r, nil
}

// count adds a line of commandstats: "calls=12,usec=34,...".
func (r *Reading) count(command, stats string) {
	text, _, _ := strings.Cut(strings.TrimPrefix(stats, "calls="), ",")
	calls, _ := strconv.ParseInt(text, 10, 64) // 0: a line of another kind
	r.Executed += calls
	name, _, _ := strings.Cut(command, "|") // "client|setname"
	if onlySent[name] {
		r.Sent += calls
	}
}

// onlySent are the commands that no script of dueq or of the floor calls: INFO does not
// distinguish what clients send from what scripts execute.
var onlySent = map[string]bool{
	"eval": true, "evalsha": true, "eval_ro": true, "evalsha_ro": true, "fcall": true, "fcall_ro": true,
	"script": true, "function": true, "multi": true, "exec": true, "wait": true,
	"ping": true, "subscribe": true, "unsubscribe": true, "ssubscribe": true, "sunsubscribe": true,
	"hello": true, "auth": true, "select": true, "client": true, "info": true, "config": true, "slowlog": true,
	"cluster": true, "readonly": true, "asking": true, "role": true, "unlink": true, "sadd": true,
}
