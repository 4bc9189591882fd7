package report

import (
	"encoding/xml"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/bench/peer"
	"github.com/dueq-dev/dueq/bench/workload"
)

// sampled is a small result: one queue that keeps its promises, one that does not, one
// that could not be measured.
func sampled() *Result {
	r := &Result{Rounds: 2, Finished: true, Scale: workload.Full(), Versions: map[string]string{"redis": "7.0.15", "none": ""}}
	for _, name := range []string{"dueq", "good", "bad", "broken"} {
		r.Systems = append(r.Systems, System{Info: peer.Info{Name: name, Title: name + " <queue>", Server: peer.Redis}, Lines: 1234})
	}
	add := func(system, wl string, v workload.Values) {
		r.Samples = append(r.Samples, Sample{System: system, Workload: wl, Values: v})
	}
	for system, rate := range map[string]float64{"dueq": 100_000, "good": 10_000, "bad": 50_000} {
		add(system, "drain", workload.Values{"per_s": rate, "server_us": 5})
		add(system, "send-128", workload.Values{"per_s": rate, "server_us": 3})
		add(system, "lateness", workload.Values{"p50_ms": 1, "p99_ms": 9, "lost": 0, "twice": 0, "early": 0})
		add(system, "memory", workload.Values{"bytes": 300})
		add(system, "kill", workload.Values{"lost": 0, "twice": 50, "early": 0, "recovery_s": 30})
	}
	add("bad", "kill", workload.Values{"lost": 77, "twice": 0, "early": 0})
	r.Samples = append(r.Samples,
		Sample{System: "broken", Workload: "drain", Error: "not finished after 8m0s\nlong story"},
		Sample{System: "broken", Workload: "send-batch", Excuse: "no batches"})
	return r
}

func TestPage_ListsFindings(t *testing.T) {
	t.Parallel()
	page := Page(sampled(), "images")
	for _, want := range []string{
		"- Nothing lost, nothing early, and nothing twice while all consumers live: dueq <queue>; good <queue>.",
		"- Lost messages when a consumer was killed or away: bad <queue>.",
		"dueq catches up at 10 times the rate of the fastest other queue in the first list (good <queue>).",
		"Not measured: broken, drain, round 0: not finished after 8m0s.",
		"| **77** |", "no batches", "| failed |", "1,234",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "smoke run") || strings.Contains(page, "unfinished run") {
		t.Error("a full run is called something less")
	}
}

func TestPage_WarnsOfUnreliableFigures(t *testing.T) {
	t.Parallel()
	quick, partial := sampled(), sampled()
	quick.Quick, partial.Finished = true, false
	if !strings.Contains(Page(quick, "."), "**A smoke run.**") {
		t.Error("a quick run looks like a full one")
	}
	if !strings.Contains(Page(partial, "."), "**An unfinished run**") {
		t.Error("a part of a run looks like a whole one")
	}
}

// A run that stopped early must not count messages as lost that may only be late.
func TestPage_MessagesOfARunCutShortAreNotLost(t *testing.T) {
	t.Parallel()
	r := sampled()
	r.Samples = append(r.Samples, Sample{
		System: "good", Workload: "away", Values: workload.Values{"lost": 5, "twice": 0, "early": 0, "cut_short_s": 1},
	})
	if !r.Safety("good").Safe() {
		t.Error("counted as lost")
	}
	if got := r.Faults("good", "away").cell(); got != "5 not back in 1 s" {
		t.Errorf("cell = %q", got)
	}
}

func TestSafety_NamesTheWorst(t *testing.T) {
	t.Parallel()
	none := workload.Values{"lost": 0, "twice": 9, "early": 0}
	for want, samples := range map[string]map[string]workload.Values{
		"":                 {"kill": none, "survivor": none},
		"loses messages":   {"kill": {"lost": 1}, "survivor": {"lost": 5}, "two": {"twice": 3}},
		"strands messages": {"kill": none, "survivor": {"lost": 5}},
		"hands out twice":  {"kill": none, "two": {"lost": 0, "twice": 3}},
		"delivers early":   {"kill": {"lost": 0, "early": 2}},
	} {
		r := &Result{}
		for w, v := range samples {
			r.Samples = append(r.Samples, Sample{System: "q", Workload: w, Values: v})
		}
		if got := r.Safety("q").String(); got != want {
			t.Errorf("%v: %q, want %q", samples, got, want)
		}
	}
}

func TestTable_EveryRowHasAllColumns(t *testing.T) {
	t.Parallel()
	columns := 0
	for line := range strings.Lines(Page(sampled(), "images")) {
		n := strings.Count(line, "|")
		switch {
		case n == 0:
			columns = 0
		case columns == 0:
			columns = n
		case n != columns:
			t.Errorf("%d bars instead of %d: %s", n, columns, line)
		}
	}
}

func TestPlot_IsWellFormed(t *testing.T) {
	t.Parallel()
	for name, svg := range plots(sampled()) {
		rows := 0
		for d := xml.NewDecoder(strings.NewReader(svg)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if e, ok := token.(xml.StartElement); ok && (e.Name.Local == "rect" || e.Name.Local == "circle") {
				rows++
			}
		}
		if want := map[bool]int{true: 1, false: 3}[name == "peers-short.svg"]; rows < want {
			t.Errorf("%s shows %d values, want one of each queue at least", name, rows)
		}
		if !strings.Contains(svg, "prefers-color-scheme:dark") {
			t.Errorf("%s has no colours for the dark", name)
		}
	}
}

func TestResult_WrittenAndReadIsTheSame(t *testing.T) {
	t.Parallel()
	r := sampled()
	r.Date = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	file := filepath.Join(t.TempDir(), "r.json")
	if err := r.Save(file); err != nil {
		t.Fatal(err)
	}
	back, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if Page(r, ".") != Page(back, ".") {
		t.Error("the page of what was read differs from that of what was written")
	}
}
