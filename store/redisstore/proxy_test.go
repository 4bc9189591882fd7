package redisstore

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
	"github.com/dueq-dev/dueq/store/storetest"
)

// proxy is a TCP proxy before a server. It can let the scripts of a request run, then drop their
// replies and close the connection.
type proxy struct {
	server   *redistest.Server
	listener net.Listener
	lost     atomic.Int64
	running  sync.WaitGroup
	mu       sync.Mutex
	lose     func(request []byte) bool // whether the replies to a request with scripts get lost; nil: none
	open     []net.Conn
}

// loseIf makes lose decide whose replies get lost from now on. It is called for one
// request at a time.
func (p *proxy) loseIf(lose func(request []byte) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose = lose
}

// loseNext loses the replies of the next n requests.
func (p *proxy) loseNext(n int) {
	p.loseIf(func([]byte) bool {
		n--
		return n >= 0
	})
}

// loses reports whether a request runs scripts whose replies get lost.
func (p *proxy) loses(request []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lose != nil && bytes.Contains(bytes.ToLower(request), []byte("evalsha")) && p.lose(request)
}

func startProxy(t *testing.T, server *redistest.Server) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{server: server, listener: l}
	p.running.Go(p.accept)
	t.Cleanup(p.stop)
	return p
}

func (p *proxy) stop() {
	_ = p.listener.Close()
	p.mu.Lock()
	for _, c := range p.open {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(p.server.Options().Network, p.server.Addr())
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.open = append(p.open, client, server)
		p.mu.Unlock()
		var losing atomic.Bool
		p.running.Go(func() { p.pass(client, server, &losing, false) })
		p.running.Go(func() { p.pass(server, client, &losing, true) })
	}
}

func (p *proxy) pass(from, to net.Conn, losing *atomic.Bool, replies bool) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buffer := make([]byte, 1<<20)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if replies && losing.Load() {
			p.lost.Add(1)
			return
		}
		if !replies && p.loses(buffer[:n]) {
			losing.Store(true)
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// proxied is a rig whose calls go through a proxy. Every script has run once, so that
// none needs to be sent with its source.
func proxied(t *testing.T) (*rig, *proxy) {
	t.Helper()
	server := redistest.Shared(t)
	p := startProxy(t, server)
	for _, s := range library() {
		if err := server.Client(t).ScriptLoad(t.Context(), s.source).Err(); err != nil {
			t.Fatal(err)
		}
	}
	rdb := redis.NewClient(&redis.Options{
		Addr: p.listener.Addr().String(), DisableIdentity: true, ContextTimeoutEnabled: true, ReadTimeout: 10 * time.Second,
	})
	t.Cleanup(func() { _ = rdb.Close() })
	return newRig(t, rdb), p
}

func TestPush_LostReply(t *testing.T) {
	t.Parallel()
	r, p := proxied(t)
	r.push(r.messages(1, 10)...)
	p.loseNext(2)
	r.push(r.messages(5, 10)...)
	r.want("lost", p.lost.Load(), 2)
	r.want("sent", r.stats().Counters.Sent, 6)
	r.wantClean()
}

func TestClaim_LostReply(t *testing.T) {
	t.Parallel()
	r, p := proxied(t)
	r.push(r.messages(5, 10)...)
	p.loseNext(1)
	ds := r.claim(5)
	r.want("lost", p.lost.Load(), 1)
	r.want("deliveries", len(ds), 5)
	r.want("attempt", ds[0].Receipt.Attempt, 1)
	r.want("delivered", r.stats().Counters.Delivered, 5)
	r.wantClean()
}

func TestSettle_LostReply(t *testing.T) {
	t.Parallel()
	for v, want := range map[store.Verdict]store.Code{
		store.Ack: store.CodeGone, store.Nack: store.CodeOK, store.Release: store.CodeOK,
		store.Reject: store.CodeOK, storetest.Extend: store.CodeOK, storetest.Start: store.CodeOK,
	} {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			r, p := proxied(t)
			r.push(r.messages(1, 10)...)
			ds := r.claim(1)
			p.loseNext(1)
			r.want("code", r.settle(v, ds...), []store.Code{want})
			r.want("lost", p.lost.Load(), 1)
			c := r.stats().Counters
			settled := c.Acked + c.Nacked + c.Released + c.Rejected
			if v == storetest.Extend || v == storetest.Start {
				settled++
			}
			r.want("settled", settled, 1)
			r.wantClean()
		})
	}
}

func TestClaim_LostReplyOfAnEmptyOneIsRemembered(t *testing.T) {
	t.Parallel()
	r, p := proxied(t)
	r.push(r.messages(1, 10)...)
	r.settle(store.Ack, r.claim(1)...)
	p.loseNext(1)
	request := r.claimRequest(1)
	_, err := r.Claim(r.ctx(), r.p, request)
	r.must(err)
	r.push(r.messages(1, 10)...)
	// The try whose reply was lost arrives once more, late, from a process with no memory of it.
	late := newRigWith(t, r.rdb, Config{Prefix: r.config.Prefix, Logger: quiet()})
	result, err := late.Claim(r.ctx(), r.p, request)
	r.must(err)
	r.want("deliveries", len(result.Deliveries), 0)
}

// A repeated management call gets the answer of the first try, also when it takes several steps,
// each of which loses its reply.
func TestManage_LostReplyAnswersAsTheFirstTry(t *testing.T) {
	t.Parallel()
	const n, size = 5, 600 << 10 // two messages a step
	for _, op := range []string{"cancel", "reschedule", "redrive", "purge", "purge of ids"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			r, p := proxied(t)
			ms := r.messages(n, size)
			var ids []store.ID
			var refs []store.Ref
			var moves []store.Move
			for i := range ms {
				r.push(ms[i])
				ids, refs = append(ids, ms[i].ID), append(refs, store.Ref{ID: ms[i].ID})
				moves = append(moves, store.Move{Ref: refs[i], Delay: 60_000})
			}
			if op == "redrive" {
				for ds := r.claim(n); len(ds) > 0; ds = r.claim(n) {
					r.settle(store.Reject, ds...)
				}
			}
			losing := true
			p.loseIf(func([]byte) bool { losing = !losing; return !losing }) // every other request
			var err error
			done := n
			switch op {
			case "cancel":
				var codes []store.Code
				codes, err = r.Cancel(r.ctx(), r.p, r.cancelRequest(refs...))
				r.want("codes", codes, make([]store.Code, n))
			case "reschedule":
				var codes []store.Code
				codes, err = r.Reschedule(r.ctx(), r.p, r.rescheduleRequest(moves...))
				r.want("codes", codes, make([]store.Code, n))
			case "redrive":
				var results []store.PushResult
				results, err = r.Redrive(r.ctx(), r.p, r.redriveRequest(ids...))
				r.want("results", results, make([]store.PushResult, n))
			case "purge":
				var result store.PurgeResult
				done = n - 1
				result, err = r.Purge(r.ctx(), r.p, r.purgeRequest(store.Ready, done))
				r.want("removed", result.Removed, done)
			default:
				var result store.PurgeResult
				result, err = r.Purge(r.ctx(), r.p, store.PurgeRequest{
					Caller: "m", Number: r.next(), State: store.Ready, IDs: append(ids, ids...), Limit: store.MaxBatch,
				})
				r.want("removed", result.Removed, n)
			}
			r.must(err)
			p.loseIf(nil)
			if p.lost.Load() == 0 {
				t.Error("no reply was lost")
			}
			c := r.stats().Counters
			if did := c.Cancelled + c.Redriven + c.Purged; op != "reschedule" && did != int64(done) {
				t.Errorf("%d messages were moved, want %d", did, done)
			}
			r.wantClean()
		})
	}
}

// A caller that repeats a claim sets Again: the first try may arrive after the answer to the second,
// and must not lease messages that no consumer would get.
func TestClaim_AgainKeepsALateFirstTryFromLeasing(t *testing.T) {
	t.Parallel()
	r := sharedRig(t)
	r.push(r.messages(1, 10)...)
	r.settle(store.Ack, r.claim(1)...)
	request := r.claimRequest(1)
	again := request
	again.Again = true
	result, err := r.Claim(r.ctx(), r.p, again)
	r.must(err)
	r.want("deliveries", len(result.Deliveries), 0)
	r.push(r.messages(1, 10)...)
	late := newRigWith(t, r.rdb, Config{Prefix: r.config.Prefix, Logger: quiet()})
	result, err = late.Claim(r.ctx(), r.p, request)
	r.must(err)
	r.want("deliveries to the late try", len(result.Deliveries), 0)
	r.want("deliveries to the next claim", len(r.claim(1)), 1)
}

func TestConfigure_RepeatedAfterLostReplySucceeds(t *testing.T) {
	t.Parallel()
	r, p := proxied(t)
	first, err := r.Configure(r.ctx(), "q", store.Change{Create: true})
	r.must(err)
	var lost atomic.Int64
	most := int64(7)
	p.loseIf(func(request []byte) bool {
		if lost.Load() > 0 || !bytes.Contains(request, []byte(r.scripts["settings"].sha)) {
			return false
		}
		lost.Add(1)
		return true
	})
	changed, err := r.Configure(r.ctx(), "q", store.Change{If: first.Version, Token: "mine", MaxMessages: &most})
	r.must(err)
	r.want("max messages", changed.MaxMessages, most)
	r.want("of the copy", r.rdb.HGet(r.ctx(), r.side(0), "max_messages").Val(), most)
	r.want("replies lost", lost.Load(), 1)
	r.want("a later version", changed.Version > first.Version, true)
}
