package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/targets"
	"github.com/dueq-dev/dueq/dueqhttp"
	"github.com/dueq-dev/dueq/dueqhttp/push"
)

// mailbox is an endpoint on a loopback port that keeps the bodies of requests.
func mailbox(t *testing.T) (url string, bodies <-chan string) {
	t.Helper()
	kept := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		kept <- string(body)
	}))
	t.Cleanup(server.Close)
	return server.URL, kept
}

// target returns the section of a file of targets.
func target(queue, url string) string {
	return "[" + queue + "]\nurl = " + url + "\nallow = 127.0.0.1\n"
}

func TestServe_PostsMessagesToTargets(t *testing.T) {
	t.Parallel()
	url, bodies := mailbox(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "targets")
	write(t, file, target("orders", url))
	s := &session{t: t, env: map[string]string{"DUEQ_STORE": "file:" + filepath.Join(dir, "store")}}
	server := s.serve("--targets", file)
	server.want(http.StatusCreated, "POST", "/v1/queues/orders/messages", `{"body":"posted"}`, "")
	server.want(http.StatusCreated, "POST", "/v1/queues/other/messages", `{"body":"not posted"}`, "")
	if body := <-bodies; body != "posted" {
		t.Errorf("posted %q", body)
	}
	if got := server.stop(); got.code != exitOK {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
	if orders, other := s.stats("orders"), s.stats("other"); orders.Acked != 1 || orders.Leased+orders.Ready != 0 || other.Ready != 1 {
		t.Errorf("%+v, %+v, want the message acked, and the one of the other queue ready", orders, other)
	}
}

func TestServe_ChangedFilesTakeEffect(t *testing.T) {
	t.Parallel()
	before, _ := mailbox(t)
	after, bodies := mailbox(t)
	dir := t.TempDir()
	tokenFile, targetFile := filepath.Join(dir, "tokens"), filepath.Join(dir, "targets")
	s := inMemory(t)
	revoked := strings.TrimSpace(s.ok("token", "revoked", "--scope", "admin", "--token-file", tokenFile))
	write(t, targetFile, target("orders", before))
	cmd, out := s.start(nil, "serve", "--listen", "127.0.0.1:0", "--token-file", tokenFile, "--targets", targetFile)
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	server := &served{T: t, url: strings.TrimSpace(line), client: &http.Client{Transport: &http.Transport{}}}
	defer server.client.CloseIdleConnections()
	server.want(http.StatusOK, "GET", "/v1/queues", "", revoked)
	if err := os.Remove(tokenFile); err != nil {
		t.Fatal(err)
	}
	fresh := strings.TrimSpace(s.ok("token", "fresh", "--scope", "admin", "--token-file", tokenFile))
	write(t, targetFile, target("orders", after))
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for status := http.StatusOK; status != http.StatusUnauthorized; status, _ = server.do("GET", "/v1/queues", "", revoked) {
		if time.Now().After(deadline) {
			t.Fatal("the token that was removed is still known")
		}
	}
	server.want(http.StatusCreated, "POST", "/v1/queues/orders/messages", `{"body":"posted"}`, fresh)
	if body := <-bodies; body != "posted" {
		t.Errorf("posted %q", body)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitOf(t, cmd); code != exitOK {
		t.Errorf("exit %d", code)
	}
}

// A token may be revoked while a request with it waits for a message.
func TestAPI_ChangedTokensEndWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, err := dueq.NewMemory(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Queue("work").Create(t.Context(), dueq.Settings{}); err != nil {
			t.Fatal(err)
		}
		a := &api{client: client, options: dueqhttp.Options{Logger: slog.New(slog.DiscardHandler)}}
		secret, hash := dueqhttp.NewSecret()
		ask := func() *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), "POST", "http://localhost/v1/queues/work/receive", strings.NewReader(`{"wait":"1m"}`))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+secret)
			w := httptest.NewRecorder()
			a.ServeHTTP(w, r)
			return w
		}
		if err := a.use(t.Context(), []dueqhttp.Token{{Name: "a", SHA256: hash, Scopes: []dueqhttp.Scope{dueqhttp.Consume}}}); err != nil {
			t.Fatal(err)
		}
		answered := make(chan int, 1)
		go func() { answered <- ask().Code }()
		synctest.Wait()
		if err := a.use(t.Context(), []dueqhttp.Token{{Name: "b", Scopes: []dueqhttp.Scope{dueqhttp.Consume}}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		select {
		case status := <-answered:
			if status != http.StatusNoContent {
				t.Errorf("the request that waited got %d", status)
			}
		default:
			t.Error("the request waits on")
		}
		if w := ask(); w.Code != http.StatusUnauthorized {
			t.Errorf("a request with the revoked token got %d", w.Code)
		}
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestServe_BadTargetsAreRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "targets")
	inMemory(t).fails(exitUsage, []string{"--targets"}, "serve", "--targets", file)
	write(t, file, "[orders]\nurl = https://user:secret-part@shop.example\n")
	inMemory(t).fails(exitUsage, []string{"--targets", "[orders]", "url"}, "serve", "--targets", file)
	write(t, file, target("orders", "https://shop.example"))
	inMemory(t).fails(exitUsage, []string{"--read-only"}, "serve", "--targets", file, "--read-only")
}

func TestWatched_BadFileChangesNothing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "targets")
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	got := 0
	w := &watched{path: file, text: []byte(target("a", "https://shop.example")), changed: func(text []byte) error {
		all, err := targets.Parse(text)
		if err == nil {
			got = len(all)
		}
		return err
	}}
	look := func(text string, targets, warnings int) {
		t.Helper()
		if text != "" {
			write(t, file, text)
		}
		w.look(t.Context(), logger)
		w.look(t.Context(), logger)
		if n := strings.Count(log.String(), "level=WARN"); got != targets || n != warnings {
			t.Errorf("%d targets and %d warnings, want %d and %d:\n%s", got, n, targets, warnings, log.String())
		}
	}
	look("", 0, 1)
	look(target("a", "https://shop.example"), 0, 1) // the same as at first
	look("[a", 0, 2)
	look(target("a", "https://shop.example")+target("b", "https://shop.example"), 2, 2)
	look(strings.Repeat("#", maxReread+1), 2, 3)
	look("[a", 2, 4)
}

// posts counts what is posted to endpoints, without a network.
type posts struct {
	mu  sync.Mutex
	all []string
}

// to returns a target whose endpoint has a name.
func (p *posts) to(queue, name string) targets.Target {
	return targets.Target{Queue: queue, Concurrency: 1, Target: push.Target{URL: "https://" + name + ".example", Transport: p}}
}

func (p *posts) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, r.URL.Host+" "+string(body))
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, err
}

// take returns what was posted since the last call.
func (p *posts) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.all
	p.all = nil
	return all
}

// inPushing runs a test with pushers on a store in memory, in synthetic time.
func inPushing(t *testing.T, test func(ctx context.Context, p *pushing, got *posts, send func(queue, body string))) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		client, err := dueq.NewMemory(&dueq.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		p := &pushing{client: client, log: slog.New(slog.DiscardHandler), running: map[string]*pusher{}}
		test(ctx, p, &posts{}, func(queue, body string) {
			t.Helper()
			if _, err := client.Queue(queue).Send(ctx, dueq.Message{Body: []byte(body)}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		})
		cancel()
		p.wait()
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestPushing_FollowsTheTargets(t *testing.T) {
	inPushing(t, func(ctx context.Context, p *pushing, got *posts, send func(queue, body string)) {
		want := func(all ...string) {
			t.Helper()
			if posted := got.take(); !slices.Equal(posted, all) {
				t.Errorf("posted %q, want %q", posted, all)
			}
		}
		p.apply(ctx, []targets.Target{got.to("a", "one"), got.to("b", "one")})
		send("a", "1")
		send("b", "1")
		want("one.example 1", "one.example 1")
		same := p.running["b"]
		p.apply(ctx, []targets.Target{got.to("a", "two"), got.to("b", "one")})
		if p.running["b"] != same {
			t.Error("a target that has not changed began anew")
		}
		synctest.Wait()
		send("a", "2")
		send("b", "2")
		want("two.example 2", "one.example 2")
		p.apply(ctx, []targets.Target{got.to("b", "one")})
		synctest.Wait()
		send("a", "3")
		want()
		p.apply(ctx, []targets.Target{got.to("a", "two"), got.to("b", "one")})
		synctest.Wait()
		want("two.example 3")
	})
}

func TestPushing_QueueThatIsDeletedIsConsumedAgain(t *testing.T) {
	inPushing(t, func(ctx context.Context, p *pushing, got *posts, send func(queue, body string)) {
		p.apply(ctx, []targets.Target{got.to("a", "one")})
		send("a", "1")
		if err := p.client.DeleteQueue(ctx, "a", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * pushAgainAfter) //nolint:forbidigo // synthetic time
		send("a", "2")
		if posted := got.take(); len(posted) != 2 {
			t.Errorf("posted %q, want both messages", posted)
		}
	})
}
