package dueq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// Description is what [Client.Describe] has found. It has no passwords.
type Description struct {
	// Kind is "redis", "sentinel", "cluster", "file" or "memory", of a remote store that of the store
	// behind the server; of one of dueqtest and of one that was given to [New] it can be "other".
	Kind     string
	Servers  []ServerDescription // of a Redis: the server, or the masters of a Cluster
	Files    *FilesDescription   // of a directory; nil: it is none
	Findings []Finding
}

// ServerDescription describes a Redis server.
type ServerDescription struct {
	Address      string // host and port, of a Cluster; "" for the only server
	Version      string // with the name, such as "Redis 7.2.4"
	Role         string // "master" or "slave"
	MemoryUsed   int64  // bytes
	MemoryLimit  int64  // bytes; 0: none
	Eviction     string // the server's maxmemory-policy
	AppendOnly   bool   // it writes an append-only file
	LastSnapshot time.Time
	Clients      int64 // connections
	Replicas     int64
}

// FilesDescription describes the files of a directory.
type FilesDescription struct {
	Bytes    int64
	Needed   int64 // bytes that are left when all garbage is removed
	Segments int
	Sync     string // "always": a call waits for the disk; "never"; or how often, such as "500ms"
	Full     bool   // new messages are refused for lack of space
}

// Finding is one thing that [Client.Describe] has judged.
type Finding struct {
	Check  string // what was looked at, such as "persistence"
	Server string // its address, of a Cluster; "" for the only server
	Level  FindingLevel
	Found  string // what is the case
	Fix    string // what to change, and why; "" if nothing
}

// FindingLevel is how bad a [Finding] is: "ok", "warn" (messages can be lost or late under conditions
// that the fix prevents) or "fail" (something does not work, or messages can be lost at any time).
type FindingLevel string

// The levels of a [Finding].
const (
	FindingOK   FindingLevel = "ok"
	FindingWarn FindingLevel = "warn"
	FindingFail FindingLevel = "fail"
)

// describer is a store that can describe itself.
type describer interface {
	Describe(ctx context.Context) (store.Description, error)
}

// Describe returns what the store is, and judges its settings and its state: of a Redis, and of
// each master of a Cluster, the version, role, eviction, persistence, memory and slots; of a
// directory, how it is written and whether there is space; of a remote store, what its server says
// about the store behind it; of every store, how long a call takes.
// It changes nothing. Errors: [ErrUnavailable], [ErrClosed], the error of ctx. Costs an INFO of
// each server, and 11 calls one after the other.
func (c *Client) Describe(ctx context.Context) (Description, error) {
	if err := c.guard(ctx); err != nil {
		return Description{}, fail("describe", "", "", err)
	}
	d, err := c.describe(ctx)
	return d, fail("describe", "", "", err)
}

func (c *Client) describe(ctx context.Context) (Description, error) {
	found := store.Description{Kind: "other"}
	if s, ok := bare(c.store).(describer); ok {
		var err error
		if found, err = s.Describe(ctx); err != nil {
			return Description{}, err
		}
	}
	d := Description{Kind: string(found.Kind)}
	for _, s := range found.Servers {
		d.Servers = append(d.Servers, ServerDescription{
			Address: s.Address, Version: s.Version, Role: s.Role, MemoryUsed: s.MemoryUsed, MemoryLimit: s.MemoryLimit, Eviction: s.Eviction,
			AppendOnly: s.AppendOnly, LastSnapshot: fromInstant(s.LastSnapshot), Clients: s.Clients, Replicas: s.Replicas,
		})
	}
	if found.Files != nil {
		d.Files = new(FilesDescription(*found.Files))
	}
	for _, f := range found.Findings {
		level := [...]FindingLevel{FindingOK, FindingWarn, FindingFail}[f.Level]
		d.Findings = append(d.Findings, Finding{Check: f.Check, Server: f.Server, Level: level, Found: f.Found, Fix: f.Fix})
	}
	latency, err := c.latency(ctx)
	if err != nil {
		return Description{}, err
	}
	d.Findings = append(d.Findings, latency)
	return d, nil
}

const (
	roundTrips   = 11
	slowTrip     = 20 * time.Millisecond
	hopelessTrip = time.Second
)

// latency returns how long the simplest call takes.
func (c *Client) latency(ctx context.Context) (Finding, error) {
	trips := make([]time.Duration, roundTrips)
	for i := range trips {
		began := time.Now()
		_, err := c.store.Configure(ctx, "dueq-doctor", store.Change{}) // of a queue that is not there: so it is read
		if err != nil && !errors.Is(err, ErrNotFound) {
			return Finding{}, err
		}
		trips[i] = time.Since(began)
	}
	slices.Sort(trips)
	return ofLatency(trips[roundTrips/2], trips[roundTrips-1]), nil
}

func ofLatency(median, most time.Duration) Finding {
	f := Finding{Check: "latency", Level: FindingOK, Found: fmt.Sprintf("a call takes %s, at most %s", median.Round(time.Microsecond), most.Round(time.Microsecond))}
	const fix = "run programs near the store, and see what keeps it busy: each message is late by a few calls"
	switch {
	case median > hopelessTrip:
		f.Level, f.Fix = FindingFail, fix
	case median > slowTrip:
		f.Level, f.Fix = FindingWarn, fix
	}
	return f
}
