package dueqhttp_test

import (
	"net/http"
	"testing"

	"github.com/dueq-dev/dueq/dueqhttp"
	"github.com/dueq-dev/dueq/store/embedded"
)

// description is what GET /v1/store answers.
type description struct {
	Kind     string
	Servers  []map[string]any
	Files    *struct{ Sync string }
	Findings []struct{ Check, Level, Found, Fix string }
}

// levelOf returns how bad a check has found the store.
func (d *description) levelOf(check string) string {
	for _, f := range d.Findings {
		if f.Check == check {
			return f.Level
		}
	}
	return ""
}

func TestDescribe_StoreInMemory(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	var d description
	r.do("GET", "/v1/store", "").want(http.StatusOK).into(&d)
	if d.Kind != "memory" || d.Files != nil || d.Servers != nil || d.levelOf("persistence") != "warn" || d.levelOf("latency") == "" {
		t.Errorf("%+v", d)
	}
	r.do("GET", "/v1/store?x=1", "").wantProblem(http.StatusBadRequest, "invalid", "x")
}

func TestDescribe_Directory(t *testing.T) {
	t.Parallel()
	s, err := embedded.Open(t.Context(), t.TempDir(), embedded.Config{NeverSync: true})
	if err != nil {
		t.Fatal(err)
	}
	r := serveOver(t, s, nil)
	var d description
	r.do("GET", "/v1/store", "").want(http.StatusOK).into(&d)
	if d.Kind != "file" || d.Files == nil || d.Files.Sync != "never" || d.levelOf("persistence") != "warn" || d.levelOf("space") != "ok" {
		t.Errorf("%+v", d)
	}
}

func TestDescribe_NotForATokenOfSomeQueues(t *testing.T) {
	t.Parallel()
	r := guarded(t, dueqhttp.Options{})
	r.with("mail").do("GET", "/v1/store", "").wantProblem(http.StatusForbidden, "forbidden", "")
	r.with("read").do("GET", "/v1/store", "").want(http.StatusOK)
}
