// Package report keeps the results of a run and turns them into a page for people.
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/dueq-dev/dueq/bench/host"
	"github.com/dueq-dev/dueq/bench/peer"
	"github.com/dueq-dev/dueq/bench/workload"
)

// Result is everything that a run of peers or engines has found, as it is kept in
// bench/results. The workloads of engines have no scale, and its systems no description.
type Result struct {
	Command  string            `json:"command"`
	Date     time.Time         `json:"date"`
	Finished bool              `json:"finished"`
	Quick    bool              `json:"quick"` // a smoke run: its figures mean nothing
	Rounds   int               `json:"rounds"`
	Machine  host.Machine      `json:"machine"`
	Versions map[string]string `json:"versions"`
	Scale    workload.Scale    `json:"scale,omitzero"`
	Systems  []System          `json:"systems,omitempty"`
	Samples  []Sample          `json:"samples"`
}

// System is a queue and the size of its code.
type System struct {
	peer.Info
	Lines int `json:"lines"` // neither blank nor comment; 0: not counted
}

// Sample is one workload on one queue in one round.
type Sample struct {
	Round    int             `json:"round"`
	Workload string          `json:"workload"`
	System   string          `json:"system"`
	Values   workload.Values `json:"values,omitempty"`
	Excuse   string          `json:"excuse,omitempty"` // why it cannot do it
	Error    string          `json:"error,omitempty"`
	Seconds  float64         `json:"seconds"`
}

// Save writes the result so that a reader never sees half of it.
func (r *Result) Save(file string) error {
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", append(b, '\n'), 0o644); err != nil { //nolint:gosec // for everybody to read
		return err
	}
	return os.Rename(file+".new", file)
}

// Load reads a result.
func Load(file string) (*Result, error) {
	b, err := os.ReadFile(file) //nolint:gosec // the file the user names
	if err != nil {
		return nil, err
	}
	r := new(Result)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}
