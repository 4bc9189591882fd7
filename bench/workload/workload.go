// Package workload has the workloads of every queue, one in each file. A workload starts with an empty
// server, runs the queue in separate processes, and returns named values.
package workload

import (
	"context"
	"errors"
	"time"

	"github.com/dueq-dev/dueq/bench/driver"
	"github.com/dueq-dev/dueq/bench/host"
	"github.com/dueq-dev/dueq/bench/peer"
)

// Values are the figures of a workload. Their names have the units.
type Values map[string]float64

// Workload is one workload.
type Workload struct {
	Name string
	// Safety workloads count faults. They and Steady workloads vary little, so they need fewer
	// rounds.
	Safety, Steady bool
	// Excuse returns why a queue cannot do it, or "".
	Excuse func(peer.Info) string
	Run    func(ctx context.Context, b *Bench) (Values, error)
}

// All returns the workloads in the order they are run in.
func All() []Workload {
	return []Workload{
		Send("send-1", 1, 1), Send("send-16", 16, 1), Send("send-128", 128, 1), Send("send-batch", 4, 100),
		Drain(), Lateness(), Memory(), Idle(),
		Kill(), Survivor(), Away(), Two(),
	}
}

// Bench is one queue and its server, ready for a workload.
type Bench struct {
	peer.Info
	Server host.Server
	Redis  *host.Redis // nil if that is not the server
	Scale  Scale
	Driver func(done func(driver.Done)) (*driver.Process, error)
}

// Scale is the size of a run. A full run is for figures, a quick one only shows that everything works.
type Scale struct {
	Send, Batches, Drain, Late, Memory, Safety int // messages

	Lead     time.Duration // from sending to the first due time
	Pile     time.Duration // the same of Drain, for which more is sent
	Spread   time.Duration // of the due times of Late
	Settle   time.Duration // before an idle consumer is measured
	Idle     time.Duration // for which it is
	Away     time.Duration // for which the listener is
	Recovery time.Duration // at most, for what a killed consumer held
	Timeout  time.Duration // of one workload
	BodySize int
}

// Full is for figures.
func Full() Scale {
	return Scale{
		Send: 30_000, Batches: 60_000, Drain: 50_000, Late: 5_000, Memory: 200_000, Safety: 10_000,
		Lead: 2 * time.Second, Pile: 7 * time.Second, Spread: 9 * time.Second, Settle: 2 * time.Second, Idle: 10 * time.Second,
		Away: 5 * time.Second, Recovery: 5 * time.Minute, Timeout: 8 * time.Minute, BodySize: 100,
	}
}

// Quick is for a smoke run.
func Quick() Scale {
	return Scale{
		Send: 200, Batches: 400, Drain: 400, Late: 100, Memory: 1_000, Safety: 2_000,
		Lead: 500 * time.Millisecond, Pile: 3 * time.Second, Spread: time.Second, Settle: 100 * time.Millisecond, Idle: 500 * time.Millisecond,
		Away: 600 * time.Millisecond, Recovery: time.Second, Timeout: 20 * time.Second, BodySize: 100,
	}
}

// concurrency of all consumers.
const concurrency = 100

// fast returns the fastest way to send, for workloads that do not measure sending.
func (b *Bench) fast(l peer.Load) driver.Request {
	l.Producers, l.Batch, l.BodySize = 16, 1, b.Scale.BodySize
	if b.Batch {
		l.Producers, l.Batch = 4, 100
	}
	return driver.Request{Op: driver.OpSend, Load: l}
}

// send sends a load and fails if not all of it was accepted.
func send(ctx context.Context, p *driver.Process, r driver.Request) (driver.Reply, error) {
	reply, err := p.Call(ctx, r)
	if err == nil && reply.Sent != r.Count {
		err = errors.New("some messages were not sent")
	}
	return reply, err
}

// duo is a sender and a consumer: two processes, or one for a queue without a server.
type duo struct{ sender, consumer *driver.Process }

func (b *Bench) duo(done func(driver.Done)) (duo, error) {
	consumer, err := b.Driver(done)
	if err != nil {
		return duo{}, err
	}
	if b.InProcess {
		return duo{sender: consumer, consumer: consumer}, nil
	}
	sender, err := b.Driver(nil)
	if err != nil {
		return duo{}, errors.Join(err, consumer.Kill())
	}
	return duo{sender: sender, consumer: consumer}, nil
}

func (d duo) quit(ctx context.Context) error {
	err := d.consumer.Quit(ctx)
	if d.sender != d.consumer {
		err = errors.Join(err, d.sender.Quit(ctx))
	}
	return err
}

// cpu is the CPU time that a server and a process have used.
type cpu struct{ server, client time.Duration }

func (b *Bench) cpu(ctx context.Context, p *driver.Process) (cpu, error) {
	server, err := b.Server.CPU(ctx)
	if err != nil {
		return cpu{}, err
	}
	reply, err := p.Call(ctx, driver.Request{Op: driver.OpCPU})
	return cpu{server: server, client: time.Duration(reply.CPUUs) * time.Microsecond}, err
}

// perMessage returns the CPU time for a message between two readings.
func (v Values) perMessage(before, after cpu, n int) {
	v["server_us"] = float64((after.server - before.server).Microseconds()) / float64(n)
	v["client_us"] = float64((after.client - before.client).Microseconds()) / float64(n)
}

// sleepUntil waits for an instant.
func sleepUntil(ctx context.Context, t time.Time) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Until(t)):
		return nil
	}
}
