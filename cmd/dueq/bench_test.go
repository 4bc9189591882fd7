package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/bench"
	"github.com/dueq-dev/dueq/internal/redistest"
)

func TestBench_BadFlagsAreRefused(t *testing.T) {
	t.Parallel()
	for flag, tests := range map[string]map[string][]string{
		"--mode":        {"asleep": {"send, drain, lateness, idle, memory, all"}, "": {"all"}},
		"--messages":    {"0": {"1 to 10000000"}, "-1": {"1 to 10000000"}, "10000001": {"1 to 10000000"}, "1e3": {"whole number"}, "9223372036854775808": {"1 to"}},
		"--body":        {"-1": {"0 to 262144"}, "262145": {"0 to 262144"}, "1k": {"whole number"}},
		"--producers":   {"0": {"1 to 10000"}, "1,0": {"1 to 10000"}, "1,,2": {"1 to 10000"}, "2,2": {"2 is given twice"}, "1,2,3,4,5,6,7,8,9": {"at most 8"}, "": {"1 to 10000"}},
		"--concurrency": {"0": {"1 to 10000"}, "10001": {"1 to 10000"}},
		"--partitions":  {"0": {"1 to 1024"}, "1025": {"1 to 1024"}},
		"--backlog":     {"-1": {"0 to 10000000"}, "10000001": {"0 to 10000000"}},
		"--rounds":      {"0": {"1 to 100"}, "101": {"1 to 100"}},
		"--for":         {"999ms": {"1s to 1h"}, "61m": {"1s to 1h"}, "-1s": {"negative"}, "soon": {"soon"}},
		"--output":      {"xml": {"text, json"}},
	} {
		for value, texts := range tests {
			inMemory(t).fails(exitUsage, append(texts, flag, `"`+value+`"`), "bench", flag+"="+value)
		}
	}
	inMemory(t).fails(exitUsage, []string{`"now"`}, "bench", "now")
	without(t).fails(exitUsage, []string{"--store", "DUEQ_STORE"}, "bench")
}

// TestBench_ClusterAndSentinel runs every mode, and checks that no key is left on any master.
func TestBench_ClusterAndSentinel(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3)
	sentinel, master, _ := redistest.StartSentinel(t)
	for name, on := range map[string]struct {
		url     string
		masters []*redistest.Server
	}{
		"cluster":  {"redis+cluster://" + nodes[0].Addr() + "," + nodes[1].Addr(), nodes},
		"sentinel": {"redis+sentinel://" + sentinel.Addr() + "/" + redistest.MasterName, []*redistest.Server{master}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &session{t: t, env: map[string]string{"DUEQ_STORE": on.url}}
			type load struct {
				CPU  float64 `json:"store_cpu_us"`
				Sent float64 `json:"commands_sent"`
				In   float64 `json:"bytes_in"`
			}
			got := decode[struct {
				Send, Drain load
				Memory      struct {
					Bytes float64 `json:"bytes_per_message"`
				}
				Idle struct {
					Commands *float64 `json:"commands_per_s"`
				}
				Floor struct {
					Send float64 `json:"send_store_cpu_us"`
				}
			}](t, s.ok(append(tinyBench, "--partitions", "6", "-o", "json")...))
			for what, l := range map[string]load{"send": got.Send, "drain": got.Drain} {
				if l.CPU <= 0 || l.Sent <= 0 || what == "send" && l.In < 10 {
					t.Errorf("%s is %+v", what, l)
				}
			}
			if got.Memory.Bytes <= 0 || got.Idle.Commands == nil || got.Floor.Send <= 0 {
				t.Errorf("memory %+v, idle %+v, floor %+v", got.Memory, got.Idle, got.Floor)
			}
			for _, node := range on.masters {
				if n := node.Client(t).DBSize(t.Context()).Val(); n != 0 {
					t.Errorf("%d keys are left: %v", n, node.Client(t).Keys(t.Context(), "*").Val())
				}
			}
		})
	}
}

func TestBench_UnreachableStore(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"redis://u:hunter2@127.0.0.1:1", "redis+cluster://u:hunter2@127.0.0.1:1,127.0.0.1:2"} {
		got := without(t).run("bench", "--store", url)
		checkFailure(t, got, exitUnavailable, []string{"127.0.0.1:"}, []string{"bench"})
		if strings.Contains(got.err, "hunter2") {
			t.Errorf("the password is in %q", got.err)
		}
	}
}

// tinyBench are flags for a bench that takes a few seconds.
var tinyBench = []string{
	"bench", "--messages", "300", "--rounds", "1", "--for", "1s", "--body", "10", "--producers", "2", "--concurrency", "3", "--partitions", "2", "--backlog", "100",
}

func TestBench_FieldsOfJSON(t *testing.T) {
	t.Parallel()
	s := &session{t: t, env: map[string]string{"DUEQ_STORE": redisURL(t)}}
	type load struct {
		PerS      float64 `json:"per_s"`
		StoreCPU  float64 `json:"store_cpu_us"`
		ClientCPU float64 `json:"client_cpu_us"`
	}
	got := decode[struct {
		Store  string
		Setup  bench.Setup
		Send   load
		Drain  load
		Memory struct {
			Bytes float64 `json:"bytes_per_message"`
		}
		Lateness struct {
			Min, P50, P99, Max *float64
			P999               *float64 `json:"p99_9"`
			Early              *int
		} `json:"lateness_ms"`
		Idle struct {
			Commands *float64 `json:"commands_per_s"`
		}
		Floor struct {
			Send  float64 `json:"send_store_cpu_us"`
			Drain float64 `json:"drain_store_cpu_us"`
		}
		Ratio struct {
			Life struct{ Median float64 } `json:"life_store_cpu"`
		}
	}](t, s.ok(append(tinyBench, "-o", "json")...))
	for name, l := range map[string]load{"send": got.Send, "drain": got.Drain} {
		if l.PerS <= 0 || l.StoreCPU <= 0 || l.ClientCPU <= 0 {
			t.Errorf("%s is %+v", name, l)
		}
	}
	if l := got.Lateness; l.Min == nil || l.P50 == nil || l.P99 == nil || l.P999 == nil || l.Max == nil || l.Early == nil || *l.Early != 0 {
		t.Errorf("lateness is %+v", l)
	}
	if got.Floor.Send <= 0 || got.Floor.Drain <= 0 || got.Ratio.Life.Median <= 0 || got.Idle.Commands == nil || got.Memory.Bytes == 0 {
		t.Errorf("floor %+v, ratio %+v, idle %+v, memory %+v", got.Floor, got.Ratio, got.Idle, got.Memory)
	}
	if s := got.Setup; s.Messages != 300 || s.Body != 10 || s.Partitions != 2 || s.Backlog != 100 || s.Rounds != 1 || s.Seconds != 1 || s.Mode != bench.All {
		t.Errorf("setup is %+v", s)
	}
	if got.Store != "unix:" {
		t.Errorf("store is %q", got.Store)
	}
}

func TestBench_TextOutput(t *testing.T) {
	t.Parallel()
	text := inMemory(t).ok(tinyBench...)
	for _, want := range []string{"mem:; ", "\nsend, batches of 100 ", "\nsend, 2 goroutines ", "\ndrain, 3 handlers ", "\nmemory ", "; 0 early, of 500 at 500/s"} {
		if !strings.Contains(text, want) {
			t.Errorf("the output does not say %q:\n%s", want, text)
		}
	}
}

func TestBench_QueueInUseIsRefused(t *testing.T) {
	t.Parallel()
	url := redisURL(t)
	prefix := redistest.Prefix()
	client, err := dueq.Open(t.Context(), strings.Split(url, "?")[0]+"?prefix="+prefix, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if _, err := client.Queue("bench-memory").Send(t.Context(), dueq.Message{}); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"DUEQ_STORE": url}
	a := &app{console: console{out: new(strings.Builder), err: new(strings.Builder), env: func(name string) string { return env[name] }}}
	err = a.benchIn(t.Context(), prefix, bench.Config{Mode: bench.Memory, Messages: 1, Partitions: 1, Rounds: 1})
	if exitCode(err) != exitRefused || !strings.Contains(err.Error(), `"bench-memory"`) {
		t.Errorf("error is %v, want it refused", err)
	}
}

// TestBench_Interrupted checks that Ctrl-C ends a bench at once and that no key is left.
func TestBench_Interrupted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := &session{t: t, env: map[string]string{"DUEQ_STORE": "redis://" + server.Addr()}}
	cmd, _ := s.start(nil, "bench", "--rounds", "100", "--messages", "1000")
	rdb := server.Client(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for rdb.DBSize(ctx).Val() < 5 {
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatal("it stored nothing")
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitOf(t, cmd); code != exitFailure {
		t.Errorf("exit %d, want %d", code, exitFailure)
	}
	if n := rdb.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys are left: %v", n, rdb.Keys(t.Context(), "*").Val())
	}
}
