package dueqprom_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v2"

	"github.com/dueq-dev/dueq"
)

const (
	rulesDir  = "../deploy/prometheus"
	dashboard = "../deploy/grafana/dueq.json"
)

var (
	fqName     = regexp.MustCompile(`fqName: "([a-z_]+)"`)
	metricName = regexp.MustCompile(`\bdueq_[a-z_]+`)
	matcher    = regexp.MustCompile(`\b(state|event)(?:=~|!=|=)"([a-z_|]+)"`)
	heading    = regexp.MustCompile(`(?m)^## (Dueq\w+)$`)
)

// exported returns the names of all metrics.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, c := range []prometheus.Collector{newMetrics(t, nil), newQueues(t, newClient(t, dueq.Hooks{}), nil)} {
		descriptions := make(chan *prometheus.Desc)
		go func() {
			c.Describe(descriptions)
			close(descriptions)
		}()
		for d := range descriptions {
			names[fqName.FindStringSubmatch(d.String())[1]] = true
		}
	}
	return names
}

// metricsIn returns the metrics that a text names; histograms without the suffix of a series.
func metricsIn(text string, names map[string]bool) []string {
	found := metricName.FindAllString(text, -1)
	for i, name := range found {
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			if base, ok := strings.CutSuffix(name, suffix); ok && names[base] {
				found[i] = base
			}
		}
	}
	return found
}

// checkQuery reports what a query names and no collector exports.
func checkQuery(t *testing.T, where, query string, names map[string]bool) {
	t.Helper()
	if len(metricName.FindAllString(query, -1)) == 0 {
		t.Errorf("%s: %q has no metric", where, query)
	}
	for _, name := range metricsIn(query, names) {
		if !names[name] {
			t.Errorf("%s: %s is not exported", where, name)
		}
	}
	client := newClient(t, dueq.Hooks{})
	send(t, client, "orders", dueq.Message{})
	known := strings.Fields(strings.ReplaceAll(strings.Join(series(t, newQueues(t, client, nil)), " "), ":", " "))
	for _, m := range matcher.FindAllStringSubmatch(query, -1) {
		for value := range strings.SplitSeq(m[2], "|") {
			if !slices.Contains(known, value) {
				t.Errorf("%s: no series has %s=%q", where, m[1], value)
			}
		}
	}
}

// rules are the alerts of a file of rules.
type rules struct {
	Groups []struct {
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

func TestAlerts_UseExportedMetricsAndHaveARunbook(t *testing.T) {
	t.Parallel()
	var file rules
	must(t, yaml.Unmarshal([]byte(read(t, rulesDir+"/dueq.rules.yaml")), &file))
	names, sections := exported(t), heading.FindAllStringSubmatch(read(t, "../docs/runbook.md"), -1)
	tests := read(t, rulesDir+"/dueq.rules_test.yaml")
	var alerts []string
	for _, group := range file.Groups {
		for _, r := range group.Rules {
			alerts = append(alerts, r.Alert)
			checkQuery(t, r.Alert, r.Expr, names)
			if want := "https://github.com/dueq-dev/dueq/blob/main/docs/runbook.md#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
				t.Errorf("%s: runbook_url %q, want %q", r.Alert, r.Annotations["runbook_url"], want)
			}
			if r.Annotations["summary"] == "" || !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
				t.Errorf("%s: summary %q, severity %q", r.Alert, r.Annotations["summary"], r.Labels["severity"])
			}
			if !strings.Contains(tests, "alertname: "+r.Alert+"\n") {
				t.Errorf("%s: no test of promtool sees it fire", r.Alert)
			}
		}
	}
	var documented []string
	for _, s := range sections {
		documented = append(documented, s[1])
	}
	slices.Sort(alerts)
	slices.Sort(documented)
	if !slices.Equal(alerts, documented) || len(alerts) == 0 {
		t.Errorf("alerts %q, sections of the runbook %q", alerts, documented)
	}
}

// TestAlerts_FireAsTheirTestsSay needs promtool, of DUEQ_PROMTOOL or the PATH.
func TestAlerts_FireAsTheirTestsSay(t *testing.T) {
	t.Parallel()
	promtool := os.Getenv("DUEQ_PROMTOOL")
	if promtool == "" {
		found, err := exec.LookPath("promtool")
		if err != nil {
			t.Skip("SKIPPED: there is no promtool: the tests of the alert rules do not run (.ci/promtool fetches it on Debian)")
		}
		promtool = found
	}
	for _, args := range [][]string{{"check", "rules", "dueq.rules.yaml"}, {"test", "rules", "dueq.rules_test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = rulesDir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// panel is a part of a dashboard.
type panel struct {
	ID          int
	Type, Title string
	GridPos     struct{ H, W, X, Y int }
	Targets     []struct {
		RefID, Expr string
		Datasource  struct{ UID string }
	}
}

func TestDashboard_UsesExportedMetrics(t *testing.T) {
	t.Parallel()
	var board struct {
		Title, UID string
		Panels     []panel
		Templating struct{ List []struct{ Name string } }
	}
	must(t, json.Unmarshal([]byte(read(t, dashboard)), &board))
	if board.Title == "" || board.UID == "" || len(board.Templating.List) != 2 || len(board.Panels) == 0 {
		t.Fatalf("title %q, uid %q, %d variables, %d panels", board.Title, board.UID, len(board.Templating.List), len(board.Panels))
	}
	names, shown, cells := exported(t), map[string]bool{}, map[[2]int]string{}
	ids := map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] {
			t.Errorf("%s: id %d is there twice", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if at[0] > 23 || cells[at] != "" {
					t.Fatalf("%s covers %s, or is outside of the page", p.Title, cells[at])
				}
				cells[at] = p.Title
			}
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s: shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			checkQuery(t, p.Title, target.Expr, names)
			if target.Datasource.UID != "${datasource}" {
				t.Errorf("%s: data source %q is not the one of the page", p.Title, target.Datasource.UID)
			}
			for _, name := range metricsIn(target.Expr, names) {
				shown[name] = true
			}
		}
	}
	for name := range names {
		if !shown[name] {
			t.Errorf("no panel shows %s", name)
		}
	}
}

func TestGuide_ListsEveryMetric(t *testing.T) {
	t.Parallel()
	names := exported(t)
	text := read(t, "../docs/guide/metrics.md")
	for name := range names {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/guide/metrics.md does not list %s", name)
		}
	}
	for _, name := range metricsIn(text, names) {
		if !names[name] {
			t.Errorf("docs/guide/metrics.md lists %s, which is not exported", name)
		}
	}
}

func TestCheckQuery_FindsWhatIsNotExported(t *testing.T) {
	t.Parallel()
	names := map[string]bool{"dueq_client_send_duration_seconds": true}
	got := metricsIn(`rate(dueq_client_send_duration_seconds_bucket[5m]) / dueq_typo_total`, names)
	if want := "[dueq_client_send_duration_seconds dueq_typo_total]"; fmt.Sprint(got) != want {
		t.Errorf("metrics %v, want %s", got, want)
	}
}
