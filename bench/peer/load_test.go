package peer

import (
	"testing"
	"time"
)

func TestLoad_SpreadsDueTimesEvenly(t *testing.T) {
	t.Parallel()
	l := Load{From: 100, Count: 1000, DueMs: 50_000, SpreadMs: 9_000, BodySize: 100}
	seen := map[int64]bool{}
	rising := 0
	for i := range l.Count {
		m := l.Message(i)
		if m.Seq != 100+i {
			t.Fatalf("message %d has number %d", i, m.Seq)
		}
		ms := m.Due.UnixMilli()
		if ms < 50_000 || ms >= 59_000 || seen[ms] {
			t.Fatalf("message %d is due at %d: outside, or taken", i, ms)
		}
		seen[ms] = true
		if i > 0 && m.Due.After(l.Message(i-1).Due) {
			rising++
		}
	}
	if rising == l.Count-1 {
		t.Error("sent in order of due time: a queue that holds back what is behind would look good")
	}
}

func TestBody_HasNumberAndDueTime(t *testing.T) {
	t.Parallel()
	m := Load{From: 7, Count: 1, DueMs: 1_700_000_000_123, BodySize: 100}.Message(0)
	if len(m.Body) != 100 {
		t.Errorf("body of %d bytes, want 100", len(m.Body))
	}
	seq, due, err := ParseBody(m.Body)
	if err != nil || seq != 7 || !due.Equal(m.Due) {
		t.Errorf("ParseBody = %d, %v, %v, want 7, %v", seq, due, err, m.Due)
	}
	if _, _, err := ParseBody([]byte("not ours")); err == nil {
		t.Error("a stranger's body was taken for ours")
	}
}

func TestDelay_IsNeverShorterThanTheDueTimeDemands(t *testing.T) {
	t.Parallel()
	m := Message{Due: time.Now().Add(1500 * time.Microsecond)}
	if d := m.Delay(); d < time.Until(m.Due) || d%time.Millisecond != 0 {
		t.Errorf("Delay = %v", d)
	}
	if d := (Message{Due: time.Now().Add(-time.Hour)}).Delay(); d != 0 {
		t.Errorf("overdue: Delay = %v, want 0", d)
	}
}
