package targets

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq/dueqhttp/push"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := Parse([]byte(`
# of the shop
[orders]
url = https://shop.example/hooks?a=b
secret = ` + secret + `
secret=` + secret + `
content-type = application/json; charset=utf-8
timeout = 1m
concurrency = 3
rate = 90/m
reject = 400, 410
allow = 10.0.0.0/8 , shop.example

[mail]
	url=http://mail.example
`))
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i].given = nil
	}
	want := []Target{
		{Queue: "orders", Concurrency: 3, Target: push.Target{
			URL: "https://shop.example/hooks?a=b", Secrets: []string{secret, secret}, ContentType: "application/json; charset=utf-8",
			Timeout: time.Minute, Rate: 1.5, Reject: []int{400, 410}, Allow: []string{"10.0.0.0/8", "shop.example"},
		}},
		{Queue: "mail", Concurrency: 10, Target: push.Target{URL: "http://mail.example"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, err := Parse([]byte("# none\n")); err != nil || len(got) != 0 {
		t.Errorf("of an empty file: %v, %v", got, err)
	}
}

func TestParse_BadFile(t *testing.T) {
	t.Parallel()
	const queue = "[orders]\nurl = https://shop.example\n"
	for text, want := range map[string]string{
		"url = https://shop.example":        "line 1: is before the first",
		"[orders":                           "line 1: want [QUEUE]",
		"[a b]":                             "line 1: ",
		"[orders]":                          "[orders]: ",
		"[orders]\nurl = secret-part":       "[orders]: ",
		queue + "secret-part":               "line 3: want [QUEUE] or NAME = VALUE",
		queue + "rate =":                    "line 3: want [QUEUE] or NAME = VALUE",
		queue + "\n" + queue:                "line 4: [orders] has a target already",
		queue + "URL = https://a.example":   "line 3: ",
		queue + "url = https://a.example":   `line 3: "url" is given twice`,
		queue + "rate = 5":                  "line 3: rate: ",
		queue + "rate = 0/s":                "line 3: rate: ",
		queue + "rate = 1/d":                "line 3: rate: ",
		queue + "rate = 4294967295/s":       "[orders]: push: rate: ",
		queue + "timeout = 5":               "line 3: timeout: ",
		queue + "timeout = 31m":             "[orders]: push: timeout: ",
		queue + "concurrency = 0":           "line 3: concurrency: ",
		queue + "concurrency = 1001":        "line 3: concurrency: ",
		queue + "reject = 400-499":          "line 3: reject: ",
		queue + "reject = 500":              "[orders]: push: reject: ",
		queue + "allow = other.example":     "[orders]: push: allow: ",
		queue + "secret = whsec_secretpart": "[orders]: push: secrets: ",
		many(maxTargets + 1):                "line 2001: more than 1000 targets",
		strings.Repeat("#", MaxFile+1):      "1048577 bytes, the limit is 1048576",
	} {
		_, err := Parse([]byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "secret-part") || strings.Contains(err.Error(), "secretpart") {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "[q%d]\nurl = https://shop.example\n", i)
	}
	return b.String()
}

func FuzzParse(f *testing.F) {
	f.Add("[orders]\nurl = https://shop.example\nrate = 1/s\nreject = 400\nsecret = " + secret)
	f.Add("[orders]\ntimeout = 1d\nallow = ::1")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := Parse([]byte(text))
		for i := range all {
			if _, bad := push.Handler(all[i].Target); bad != nil || err != nil || all[i].Concurrency < 1 {
				t.Errorf("%+v, %v, %v", all[i], err, bad)
			}
		}
	})
}
