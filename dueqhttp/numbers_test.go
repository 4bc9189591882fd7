package dueqhttp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// numberSchema is what the description of the API says about a number.
type numberSchema struct {
	Type             string
	Minimum, Maximum *int64
}

// wrong returns texts that are no number within the bounds.
func (s numberSchema) wrong() []string {
	texts := []string{"1e9", "9223372036854775808", "-9223372036854775809", "1.5", "NaN", "0x10"}
	if s.Minimum != nil {
		texts = append(texts, fmt.Sprint(*s.Minimum-1))
	}
	if s.Maximum != nil {
		texts = append(texts, fmt.Sprint(*s.Maximum+1), "2147483648", "9223372036854775807")
	}
	return texts
}

func TestNumbers_OfAQueryAreBounded(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.sent("work", `{}`)
	var described struct {
		Paths map[string]struct {
			Get struct {
				Parameters []struct {
					Name, In string
					Schema   numberSchema
				}
			}
		}
	}
	r.do("GET", "/v1/openapi.json", "").want(http.StatusOK).into(&described)
	found := 0
	for path, item := range described.Paths {
		for _, p := range item.Get.Parameters {
			if p.In != "query" || p.Schema.Type != "integer" {
				continue
			}
			found++
			if p.Schema.Minimum == nil {
				t.Errorf("%s: %s has no minimum", path, p.Name)
			}
			for _, text := range p.Schema.wrong() {
				r.do("GET", strings.Replace(path, "{queue}", "work", 1)+"?"+p.Name+"="+text, "").wantProblem(http.StatusBadRequest, "invalid", p.Name)
			}
		}
	}
	if found < 6 {
		t.Errorf("%d numbers in queries, want 6 or more", found)
	}
}

func TestNumbers_OfABodyAreBounded(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	for field, request := range map[string]struct{ method, path string }{
		"max":          {"POST", "/v1/queues/work/receive"},
		"max_attempts": {"POST", "/v1/queues/work/messages"},
		"partitions":   {"PUT", "/v1/queues/work"},
		"max_body":     {"PUT", "/v1/queues/work"},
		"max_messages": {"PUT", "/v1/queues/work"},
		"max_dead":     {"PUT", "/v1/queues/work"},
		"max_history":  {"PUT", "/v1/queues/work"},
	} {
		for _, number := range []string{"-1", "1e9", "9223372036854775808", "1.5", `"5"`} {
			a := r.do(request.method, request.path, `{"`+field+`":`+number+`}`).want(http.StatusBadRequest)
			var p problem
			if err := json.Unmarshal(a.body, &p); err != nil || p.Code != "invalid" || p.Field != field || p.Limit == "" {
				t.Errorf("%s %s: %s", field, number, a.body)
			}
		}
	}
	if all, err := r.client.Stats(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("refused requests have made queues: %+v (%v)", all, err)
	}
}

// Whatever the number of messages that a request asks for, it is refused before the store is asked.
func TestNumbers_TooManyItemsAreRefused(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	r.sent("work", `{}`)
	before := r.stats("work")
	for path, body := range map[string]string{
		"messages": `{"messages":[` + strings.Repeat("{},", 5000) + `{}]}`,
		"verdicts": `{"verdicts":[` + strings.Repeat("{},", 5000) + `{}]}`,
		"refs":     `{"refs":[` + strings.Repeat(`"a",`, 5000) + `"a"]}`,
	} {
		to := map[string]string{"messages": "batch", "verdicts": "settle", "refs": "delete"}[path]
		var p problem
		r.do("POST", "/v1/queues/work/"+to, body).wantProblem(http.StatusBadRequest, "invalid", path).into(&p)
		if p.Value != "5001" || p.Limit != "1 to 5000" {
			t.Errorf("%s: %+v", path, p)
		}
	}
	if after := r.stats("work"); after.Ready != 1 || after.Counters != before.Counters {
		t.Errorf("before %+v, after %+v", before, after)
	}
}
