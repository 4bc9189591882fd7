package dueqhttp

import (
	"net/http"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/internal/wire"
	"github.com/dueq-dev/dueq/store"
)

// storeDescription is the answer about the store behind the server.
type storeDescription struct {
	Kind     string        `json:"kind"`
	Servers  []redisServer `json:"servers,omitempty"`
	Files    *files        `json:"files,omitempty"`
	Findings []finding     `json:"findings"`
}

// redisServer is a Redis server.
type redisServer struct {
	Address      string `json:"address,omitempty"` // of a Cluster
	Version      string `json:"version"`
	Role         string `json:"role"`
	MemoryUsed   int64  `json:"memory_used"`
	MemoryLimit  int64  `json:"memory_limit"`
	Eviction     string `json:"eviction"`
	AppendOnly   bool   `json:"append_only"`
	LastSnapshot string `json:"last_snapshot,omitempty"`
	Clients      int64  `json:"clients"`
	Replicas     int64  `json:"replicas"`
}

// files are those of a directory.
type files struct {
	Bytes    int64  `json:"bytes"`
	Needed   int64  `json:"needed"`
	Segments int    `json:"segments"`
	Sync     string `json:"sync"`
	Full     bool   `json:"full"`
}

// finding is one thing that was judged.
type finding struct {
	Check  string            `json:"check"`
	Server string            `json:"server,omitempty"`
	Level  dueq.FindingLevel `json:"level"`
	Found  string            `json:"found"`
	Fix    string            `json:"fix,omitempty"`
}

// serveDescribe describes the store. A token that is for some queues only does not see it.
func serveDescribe(c *call) error {
	if err := c.onlyQuery(); err != nil {
		return err
	}
	if c.token != nil && len(c.token.Queues) > 0 {
		return &statusError{http.StatusForbidden, "the token is for some queues, and the store is that of all"}
	}
	d, err := c.client.Describe(c.r.Context())
	if err != nil {
		return err
	}
	answer := storeDescription{Kind: d.Kind, Findings: make([]finding, len(d.Findings))}
	for _, s := range d.Servers {
		answer.Servers = append(answer.Servers, redisServer{
			Address: s.Address, Version: s.Version, Role: s.Role, MemoryUsed: s.MemoryUsed, MemoryLimit: s.MemoryLimit, Eviction: s.Eviction,
			AppendOnly: s.AppendOnly, LastSnapshot: timestamp(s.LastSnapshot), Clients: s.Clients, Replicas: s.Replicas,
		})
	}
	if d.Files != nil {
		answer.Files = new(files(*d.Files))
	}
	for i, f := range d.Findings {
		answer.Findings[i] = finding(f)
	}
	return c.answer(http.StatusOK, answer)
}

// behindServer is added to the name of a check of which the remote store has one of its own.
const behindServer = " behind the server"

// storeDescribe describes the store for a remote store, which adds how long its own calls take.
func storeDescribe(c *call, _ *wire.Call[wire.None]) (store.Description, error) {
	d, err := c.client.Describe(c.r.Context())
	if err != nil {
		return store.Description{}, err
	}
	answer := store.Description{Kind: store.Kind(d.Kind), Findings: make([]store.Finding, len(d.Findings))}
	for _, s := range d.Servers {
		snapshot := int64(0) // none yet
		if !s.LastSnapshot.IsZero() {
			snapshot = s.LastSnapshot.UnixMilli()
		}
		answer.Servers = append(answer.Servers, store.Server{
			Address: s.Address, Version: s.Version, Role: s.Role, MemoryUsed: s.MemoryUsed, MemoryLimit: s.MemoryLimit, Eviction: s.Eviction,
			AppendOnly: s.AppendOnly, LastSnapshot: snapshot, Clients: s.Clients, Replicas: s.Replicas,
		})
	}
	if d.Files != nil {
		answer.Files = new(store.Files(*d.Files))
	}
	levels := map[dueq.FindingLevel]store.Level{dueq.FindingOK: store.Fine, dueq.FindingWarn: store.Warn, dueq.FindingFail: store.Fail}
	for i, f := range d.Findings {
		if f.Check == "latency" {
			f.Check += behindServer
		}
		answer.Findings[i] = store.Finding{Check: f.Check, Server: f.Server, Level: levels[f.Level], Found: f.Found, Fix: f.Fix}
	}
	return answer, nil
}
