package dueqhttp_test

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDocs_CommandsAreAnswered makes the requests of the curl commands in docs/HTTP.md, in their
// order, with the receipt that the server returned.
func TestDocs_CommandsAreAnswered(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/HTTP.md")
	if err != nil {
		t.Fatal(err)
	}
	r := serve(t, nil)
	joined := strings.ReplaceAll(string(text), "\\\n", " ")
	commands := regexp.MustCompile(`(?m)^curl --json '([^']*)' +localhost:7373(\S+)$`).FindAllStringSubmatch(joined, -1)
	if len(commands) != 3 || strings.Count(joined, "\ncurl --json") != len(commands) {
		t.Fatalf("found %d commands that the test knows how to make, of %d", len(commands), strings.Count(joined, "\ncurl --json"))
	}
	statuses := map[string]int{"messages": http.StatusCreated, "receive": http.StatusOK, "settle": http.StatusOK}
	receipt := ""
	for _, c := range commands {
		body, path := strings.Replace(c[1], "q5dT...", receipt, 1), c[2]
		verb := path[strings.LastIndex(path, "/")+1:]
		if verb == "receive" { // the message of the example is due in half an hour
			r.do("POST", "/v1/queues/orders/messages/key:order-42/reschedule", `{"delay":"0s"}`).want(http.StatusNoContent)
		}
		var got struct{ Deliveries []item }
		a := r.do("POST", path, body).want(statuses[verb])
		if a.into(&got); len(got.Deliveries) > 0 {
			receipt = got.Deliveries[0].Receipt
		}
	}
	if s := r.stats("orders"); s.Counters.Acked != 1 {
		t.Errorf("%d messages were acked, want the one of the example", s.Counters.Acked)
	}
}
