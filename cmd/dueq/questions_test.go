package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dueq-dev/dueq"
)

// helped returns the questions of dueq help and the command that it names for each.
func helped(t *testing.T) map[string]string {
	t.Helper()
	commands := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^  (\S.*?)  +dueq (.+)$`).FindAllStringSubmatch(without(t).ok("help"), -1) {
		commands[m[1]] = m[2]
	}
	return commands
}

// answer runs dueq as a process and returns what it printed. It must take less than a minute.
func (s *session) answer(question, command string) string {
	s.t.Helper()
	program, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, end := context.WithTimeout(s.t.Context(), time.Minute)
	defer end()
	cmd := exec.CommandContext(ctx, program, strings.Fields(command)...)
	cmd.Env = append(os.Environ(), asCommand+"=1", "DUEQ_STORE="+s.env["DUEQ_STORE"])
	began := time.Now()
	out, err := cmd.Output()
	s.t.Logf("%s? dueq %s: %s", question, command, time.Since(began).Round(time.Millisecond))
	if err != nil {
		s.t.Fatalf("dueq %s: %v", command, err)
	}
	return string(out)
}

// night is a store on which a good deal is wrong: a queue is paused, one has no consumer, one has dead
// messages, a consumer that holds a message, and messages that become due.
func night(t *testing.T) *session {
	t.Helper()
	s, client := onRedis(t)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	send := func(queue string, m dueq.Message) {
		t.Helper()
		_, err := client.Queue(queue).Send(ctx, m)
		must(err)
	}
	orders := client.Queue("orders")
	for i, failure := range []string{"answer 503 from payments", "no such address", "answer 503 from stock", "answer 503 from payments"} {
		send("orders", dueq.Message{Key: fmt.Sprintf("order-%d", i)})
		got, err := orders.Receive(ctx, dueq.ReceiveOptions{Wait: time.Minute})
		must(err)
		must(got[0].Reject(ctx, errors.New(failure)))
	}
	for i := range 9 {
		send("orders", dueq.Message{Delay: time.Duration(5+10*i) * time.Minute}) // 6 within an hour
	}
	for range 2 {
		send("mails", dueq.Message{})
		send("reports", dueq.Message{})
	}
	must(client.Queue("mails").Pause(ctx))
	hold(t, orders, "order-42")
	return s
}

// hold makes a consumer named pod-7 hold a message until the test ends.
func hold(t *testing.T, q *dueq.Queue, key string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	holds, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- q.Consume(ctx, func(ctx context.Context, _ *dueq.Delivery) error {
			close(holds)
			<-ctx.Done()
			return ctx.Err()
		}, dueq.ConsumeOptions{Name: "pod-7", Concurrency: 1, Grace: time.Millisecond})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if _, err := q.Send(ctx, dueq.Message{Key: key}); err != nil {
		t.Fatal(err)
	}
	<-holds
}

// TestOperator_AnswersFromHelp holds that who has never seen dueq finds, in dueq help, the command that
// answers each question, and that its output has the answer and the next command.
func TestOperator_AnswersFromHelp(t *testing.T) {
	t.Parallel()
	s, commands := night(t), helped(t)

	const stuck, holder, due, again = "what is stuck, and why", "who holds a message", "how many become due when", "some dead messages again"
	text := s.answer(stuck, commands[stuck])
	for _, line := range []string{
		`  mails: paused, 2 due, the oldest for \S+\. Resume it: dueq resume --queue mails`,
		`  reports: 2 due, the oldest for \S+, and no consumer is alive\.`,
		`  orders: 4 dead\. Why: dueq dead --queue orders\. Again: dueq redrive --queue orders --failure TEXT --spread 10m`,
	} {
		if !regexp.MustCompile(`(?m)^` + line).MatchString(text) {
			t.Errorf("%s: no line %q in\n%s", stuck, line, text)
		}
	}
	if text := s.answer(stuck, "dead --queue orders"); strings.Count(text, "answer 503") != 3 || !strings.Contains(text, "no such address") {
		t.Errorf("%s:\n%s", stuck, text)
	}

	if text := s.answer(holder, commands[holder]); !regexp.MustCompile(`(?m)^holder +pod-7`).MatchString(text) || !strings.Contains(text, "leased until") {
		t.Errorf("%s:\n%s", holder, text)
	}

	if text := s.answer(due, commands[due]); !regexp.MustCompile(`QUEUE .*IN 1 HOUR(.*\n)+orders +0 +1 +6 +9 `).MatchString(text) {
		t.Errorf("%s:\n%s", due, text)
	}

	before := time.Now()
	if text := s.answer(again, strings.Replace(commands[again], "NAME", "orders", 1)); text != "redriven 3\n" {
		t.Errorf("%s: %q", again, text)
	}
	if text := s.answer(again, "dead --queue orders"); strings.Contains(text, "answer 503") || !strings.Contains(text, "no such address") {
		t.Errorf("%s: dead are\n%s", again, text)
	}
	spread := map[string]bool{}
	for _, r := range decode[page](t, s.answer(again, "list --queue orders --key order-? -o json")).Messages {
		if r.State == dueq.Dead || r.Due == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, r.Due)
		if err != nil || at.Before(before.Add(-time.Minute)) || at.After(time.Now().Add(10*time.Minute)) {
			t.Errorf("%s is due at %q, want within 10 minutes", r.Key, r.Due)
		}
		spread[r.Due] = true
	}
	if len(spread) != 3 {
		t.Errorf("due at %v, want three times", spread)
	}
}
