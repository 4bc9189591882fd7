package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq"
)

// TestDemoWeb_BeginsWhenThePageIsShown reads the address, asks for events as the page does, and
// sees that the demo begins then and not before, and that nothing can be changed meanwhile.
func TestDemoWeb_BeginsWhenThePageIsShown(t *testing.T) {
	t.Parallel()
	client, err := dueq.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	said, say := io.Pipe()
	began, end, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- (&app{}).demoWeb(t.Context(), client, say, func(context.Context) error {
			close(began)
			<-end
			return errors.New("from the demo")
		})
	}()
	lines := bufio.NewReader(said)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	address := strings.Fields(line)[1]
	if page := request(t, http.MethodGet, address+"/"); page != http.StatusOK {
		t.Errorf("the page: %d", page)
	}
	select {
	case <-began:
		t.Fatal("the demo began before the page was shown")
	default:
	}
	ctx, stop := context.WithCancel(t.Context())
	events, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/v1/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(events)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	<-began
	if changed := request(t, http.MethodPost, address+"/v1/queues/"+demoQueue+"/pause"); changed != http.StatusForbidden {
		t.Errorf("a change: %d", changed)
	}
	stop()
	close(end)
	defer func() { _ = say.Close() }()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "from the demo") {
		t.Errorf("it ended with %v", err)
	}
}

// request returns the status of the answer to a request without a body.
func request(t *testing.T, method, address string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode
}
