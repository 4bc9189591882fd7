package dueqhttp

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq/internal/wire"
	"github.com/dueq-dev/dueq/store"
)

// descriptionOf is openapi.json as far as it is compared with the code.
type descriptionOf struct {
	OpenAPI    string `json:"openapi"`
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Schemas map[string]schema
	}
}

type schema struct {
	Properties map[string]json.RawMessage
	AllOf      []struct {
		Ref string `json:"$ref"`
	} `json:"allOf"`
	Enum []string `json:"-"`
}

func parsed(t *testing.T) descriptionOf {
	t.Helper()
	var d descriptionOf
	if err := json.Unmarshal(description, &d); err != nil {
		t.Fatal(err)
	}
	if d.OpenAPI != "3.1.0" {
		t.Errorf("version %q", d.OpenAPI)
	}
	return d
}

func TestDescription_HasEachRoute(t *testing.T) {
	t.Parallel()
	described := map[string]string{}
	ids := map[string]bool{}
	for path, item := range parsed(t).Paths {
		for method, raw := range item {
			if method == "parameters" {
				continue
			}
			var o struct {
				OperationID string `json:"operationId"`
				Summary     string
				Security    []map[string][]string
				Responses   map[string]any
			}
			if err := json.Unmarshal(raw, &o); err != nil {
				t.Fatal(err)
			}
			if o.OperationID == "" || ids[o.OperationID] || o.Summary == "" || len(o.Responses) == 0 {
				t.Errorf("%s %s has no name or summary of its own, or no responses", method, path)
			}
			ids[o.OperationID] = true
			scope := ""
			if len(o.Security) > 0 {
				scope = o.Security[0]["token"][0]
			}
			described[strings.ToUpper(method)+" "+path] = scope
		}
	}
	routed := map[string]string{}
	for _, r := range (&server{}).routes() {
		routed[r.method+" "+r.path] = string(r.scope)
	}
	if !maps.Equal(described, routed) {
		t.Errorf("described: %v\nroutes: %v", described, routed)
	}
}

func TestDescription_HasEachFieldOfRequestsAndAnswers(t *testing.T) {
	t.Parallel()
	d := parsed(t)
	types := map[string]any{
		"Message": message{}, "NextMessage": nextMessage{}, "Batch": batch{}, "Sent": sent{}, "Schedule": moved{}, "Receive": wanted{},
		"Delivery": delivery{}, "Received": received{}, "Settle": settled{}, "Verdict": verdict{}, "Settled": done{}, "Record": record{},
		"Page": page{}, "Filter": filter{}, "Many": many{}, "Count": count{}, "Refusal": refusal{}, "Backoff": backoff{}, "Settings": settings{},
		"ChangedSettings": changedSettings{}, "Counters": counters{}, "Queue": queue{}, "Queues": queues{}, "Forecast": forecast{}, "AllForecast": allForecast{}, "Failure": failure{}, "Failures": failureGroups{}, "FailureGroup": failureGroup{}, "Member": member{}, "Members": members{}, "QueueMember": queueMember{}, "AllMembers": allMembers{}, "Store": storeDescription{}, "RedisServer": redisServer{}, "Files": files{}, "Finding": finding{}, "Change": changed{}, "QueueState": queueState{}, "Rates": rates{}, "Problem": problem{},
		"StoreCall": wire.Call[wire.None]{},
	}
	answers := []string{"Delivery", "Record"} // which have no body_json
	for name, v := range types {
		fields := fieldsOf(reflect.TypeOf(v))
		if slices.Contains(answers, name) {
			fields = slices.DeleteFunc(fields, func(f string) bool { return f == "body_json" })
		}
		s, ok := d.Components.Schemas[name]
		described := slices.Collect(maps.Keys(s.Properties))
		for _, all := range s.AllOf {
			described = append(described, slices.Collect(maps.Keys(d.Components.Schemas[all.Ref[strings.LastIndex(all.Ref, "/")+1:]].Properties))...)
		}
		slices.Sort(fields)
		slices.Sort(described)
		if !ok || !slices.Equal(fields, described) {
			t.Errorf("%s: described %v, fields %v", name, described, fields)
		}
	}
	for name, s := range d.Components.Schemas {
		if _, ok := types[name]; !ok && len(s.Properties) > 0 && name != "SendResults" && name != "SettleResults" {
			t.Errorf("%s is described, and no type of the package", name)
		}
	}
}

// fieldsOf returns the names of the members of a type in JSON.
func fieldsOf(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && tag == "" {
			names = append(names, fieldsOf(f.Type)...)
			continue
		}
		if f.IsExported() {
			names = append(names, tag)
		}
	}
	return names
}

func TestDescription_HasEachCode(t *testing.T) {
	t.Parallel()
	var p struct {
		Properties struct{ Code struct{ Enum []string } }
	}
	var d struct {
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(description, &d); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(d.Components.Schemas["Problem"], &p); err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{"cross_origin": true, "more": true, codeRequests: true, codeReaders: true}
	for _, k := range kinds() {
		codes[k.code] = true
	}
	for status := 400; status < 600; status++ {
		codes[codeOfStatus(status)] = true
	}
	got := slices.Sorted(slices.Values(p.Properties.Code.Enum))
	if want := slices.Sorted(maps.Keys(codes)); !slices.Equal(got, want) {
		t.Errorf("described %v, codes %v", got, want)
	}
}

func TestDescription_RefsHaveTargets(t *testing.T) {
	t.Parallel()
	var whole any
	if err := json.Unmarshal(description, &whole); err != nil {
		t.Fatal(err)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok && !hasTarget(whole, ref) {
				t.Errorf("%s has no target", ref)
			}
			for _, inner := range v {
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(whole)
}

func hasTarget(whole any, ref string) bool {
	at := whole
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		object, ok := at.(map[string]any)
		if !ok {
			return false
		}
		at = object[name]
	}
	return at != nil
}

func TestDescription_HasEachMethodOfTheStore(t *testing.T) {
	t.Parallel()
	var parameters []struct {
		Name   string
		Schema struct{ Enum []string }
	}
	if err := json.Unmarshal(parsed(t).Paths[storePath]["parameters"], &parameters); err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(slices.Values(parameters[0].Schema.Enum))
	if want := slices.Sorted(maps.Keys(storeMethods())); !slices.Equal(got, want) {
		t.Errorf("described %v, methods %v", got, want)
	}
	port := reflect.TypeFor[store.Store]()
	if local, more := 2, 1; len(got) != port.NumMethod()-local+more { // Known and Close make no call; describe is no method of the port
		t.Errorf("%d methods, the port has %d", len(got), port.NumMethod())
	}
}
