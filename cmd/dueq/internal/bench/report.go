package bench

import "runtime"

// Report has the results of a run. Those of modes that were not selected are absent.
type Report struct {
	Store   string `json:"store"`             // for display, without secrets; set by the caller
	Version string `json:"version,omitempty"` // of the server
	Machine string `json:"machine"`           // that dueq bench runs on
	Setup   Setup  `json:"setup"`

	Send     *Series   `json:"send,omitempty"` // in batches
	Single   []Single  `json:"send_single,omitempty"`
	Drain    *Drained  `json:"drain,omitempty"`
	Life     *Life     `json:"life,omitempty"` // send and drain together
	Memory   *Held     `json:"memory,omitempty"`
	Lateness *Late     `json:"lateness_ms,omitempty"`
	Idle     *Idleness `json:"idle,omitempty"`
	Floor    Floor     `json:"floor"`
	Ratio    Ratios    `json:"ratio"`
}

// Setup has the parameters on which the figures depend.
type Setup struct {
	Mode        string `json:"mode"`
	Messages    int    `json:"messages"`
	Body        int    `json:"body_bytes"`
	Batch       int    `json:"batch"`
	Producers   []int  `json:"producers"`
	Concurrency int    `json:"concurrency"`
	Partitions  int    `json:"partitions"`
	Backlog     int    `json:"backlog"`
	Rounds      int    `json:"rounds"`
	Seconds     Figure `json:"seconds"`
}

// Single is Send called for each message.
type Single struct {
	Producers int `json:"producers"`
	Series
	FloorPerS     Figure `json:"floor_per_s"`
	FloorStoreCPU Figure `json:"floor_store_cpu_us"`
	Ratio         *Ratio `json:"ratio_per_s"` // above 1: faster than the floor
	floor         Series
}

// Drained is a backlog that was delivered and acked.
type Drained struct {
	Series
	Ping Ping   `json:"ping_ms"`    // of another client, meanwhile
	Slow Figure `json:"slow_calls"` // in all rounds, those that the server enters into its SLOWLOG
}

// Ping is how long a server took to answer, in ms.
type Ping struct {
	P50 Figure `json:"p50"`
	P99 Figure `json:"p99"`
	Max Figure `json:"max"`
}

// Life is the cost of a whole message: send, claim and ack, in batches.
type Life struct {
	StoreCPU  Figure `json:"store_cpu_us"`
	ClientCPU Figure `json:"client_cpu_us"`
}

// Held is the memory of scheduled messages.
type Held struct {
	Messages int    `json:"messages"`
	Bytes    Figure `json:"bytes_per_message"`
}

// Late is how long after its due time the handler of a message started, in ms.
type Late struct {
	Messages int    `json:"messages"`
	Rate     int    `json:"due_per_s"`
	Min      Figure `json:"min"`
	P50      Figure `json:"p50"`
	P99      Figure `json:"p99"`
	P999     Figure `json:"p99_9"`
	Max      Figure `json:"max"`
	Early    int    `json:"early"`       // messages
	Again    int    `json:"redelivered"` // deliveries after the first
	Ahead    Figure `json:"clock_ahead"` // of the server's clock; subtracted from the figures
}

// Idleness is the cost of an idle consumer.
type Idleness struct {
	Seconds   Figure `json:"seconds"`
	Sent      Figure `json:"commands_per_s"`
	Executed  Figure `json:"commands_executed_per_s"` // including those that scripts call
	StoreCPU  Figure `json:"store_cpu_ms_per_s"`      // the server uses some without any client
	ClientCPU Figure `json:"client_cpu_ms_per_s"`
}

// Floor is the cost of the least work that a safe queue must do. Its figures are unknown where
// the store has no server.
type Floor struct {
	SendStoreCPU  Figure   `json:"send_store_cpu_us"`
	DrainStoreCPU Figure   `json:"drain_store_cpu_us"`
	LifeStoreCPU  Figure   `json:"life_store_cpu_us"`
	Memory        Figure   `json:"memory_bytes_per_message"`
	Send          *Series  `json:"send,omitempty"`
	Drain         *Drained `json:"drain,omitempty"`
}

// Ratios are dueq's figures in units of the floor's: of CPU time of the store, so that
// less is better.
type Ratios struct {
	Send   *Ratio `json:"send_store_cpu,omitempty"`
	Drain  *Ratio `json:"drain_store_cpu,omitempty"`
	Life   *Ratio `json:"life_store_cpu,omitempty"`
	Memory Figure `json:"memory"`
}

func newReport(c Config) *Report {
	return &Report{
		Machine: runtime.GOOS + "/" + runtime.GOARCH + ", " + plural(runtime.NumCPU(), "CPU") + ", " + runtime.Version(),
		Setup: Setup{
			Mode: c.Mode, Messages: c.Messages, Body: c.Body, Batch: batch, Producers: c.Producers, Concurrency: c.Concurrency,
			Partitions: c.Partitions, Backlog: c.Backlog, Rounds: c.Rounds, Seconds: Figure(c.For.Seconds()),
		},
		Floor: Floor{SendStoreCPU: unknown(), DrainStoreCPU: unknown(), LifeStoreCPU: unknown(), Memory: unknown()},
		Ratio: Ratios{Memory: unknown()},
	}
}

// life sets the results of load that the mode selects: messages that are drained must also be
// sent.
func (r *Report) life(mode string, sides []*side) {
	sent, drained := []**Series{&r.Send, &r.Floor.Send}, []**Drained{&r.Drain, &r.Floor.Drain}
	for i, s := range sides {
		if mode != Drain {
			*sent[i] = &s.sent
		}
		if mode != Send {
			*drained[i] = s.strain.of(s.drained)
		}
	}
}

// complete sets the figures of the floor.
func (s *Single) complete(producers int, floor Series) {
	s.Producers, s.floor = producers, floor
	s.FloorPerS, s.FloorStoreCPU = unknown(), unknown()
	if len(floor.Rounds) > 0 {
		s.FloorPerS, s.FloorStoreCPU = floor.PerS, floor.StoreCPU
		s.Ratio = newRatio(len(floor.Rounds), func(i int) Figure { return s.Rounds[i].PerS / floor.Rounds[i].PerS })
	}
}

// compare computes the sums and ratios, round by round, because noise of the machine affects both
// sides of a round equally.
func (r *Report) compare() {
	send, drain := r.Floor.Send, r.Floor.Drain
	if send != nil {
		r.Floor.SendStoreCPU = send.StoreCPU
		r.Ratio.Send = newRatio(len(send.Rounds), func(i int) Figure { return r.Send.Rounds[i].StoreCPU / send.Rounds[i].StoreCPU })
	}
	if drain != nil {
		r.Floor.DrainStoreCPU = drain.StoreCPU
		r.Ratio.Drain = newRatio(len(drain.Rounds), func(i int) Figure { return r.Drain.Rounds[i].StoreCPU / drain.Rounds[i].StoreCPU })
	}
	if r.Send != nil && r.Drain != nil {
		r.compareLife(both(r.Send, &r.Drain.Series))
	}
	if r.Memory != nil {
		r.Ratio.Memory = r.Memory.Bytes / r.Floor.Memory
	}
}

func (r *Report) compareLife(life *Series) {
	r.Life = &Life{StoreCPU: life.StoreCPU, ClientCPU: life.ClientCPU}
	if r.Floor.Send == nil {
		return
	}
	floor := both(r.Floor.Send, &r.Floor.Drain.Series)
	r.Floor.LifeStoreCPU = floor.StoreCPU
	r.Ratio.Life = newRatio(len(floor.Rounds), func(i int) Figure { return life.Rounds[i].StoreCPU / floor.Rounds[i].StoreCPU })
}

// both adds the figures of sending and draining in each round.
func both(send, drain *Series) *Series {
	sum := &Series{}
	for i := range send.Rounds {
		sum.add(Load{
			StoreCPU:  send.Rounds[i].StoreCPU + drain.Rounds[i].StoreCPU,
			ClientCPU: send.Rounds[i].ClientCPU + drain.Rounds[i].ClientCPU,
		})
	}
	return sum
}
