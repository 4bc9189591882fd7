package report

import (
	"os"
	"strings"
	"testing"
)

// docs/BENCHMARKS.md has the table of the result in bench/results.
func TestTable_OfTheEnginesIsInTheDocuments(t *testing.T) {
	t.Parallel()
	r, err := Load("../results/2026-11-21-engines.json")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	if err := r.Table(&table, "messages/s", "per_s"); err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../../docs/BENCHMARKS.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(table.String()), "\n")[2:]
	if len(rows) != 4 {
		t.Errorf("%d engines, want 4", len(rows))
	}
	for _, row := range rows {
		if !strings.Contains(string(doc), row+"\n") {
			t.Errorf("the page lacks %s", row)
		}
	}
}
