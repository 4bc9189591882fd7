package embedded

import (
	"testing"
	"time"

	"github.com/dueq-dev/dueq/store"
)

func TestClock_SpansBeginAtTheNextWholeMillisecond(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		fraction time.Duration
		at       int64
		delay    int64
		want     int64 // from the whole millisecond
	}{
		{"no delay is now", 999 * time.Microsecond, 0, 0, 0},
		{"whole millisecond", 0, 0, 5, 5},
		{"a microsecond later", time.Microsecond, 0, 5, 6},
		{"less than a microsecond later", time.Nanosecond, 0, 5, 6},
		{"just before the next", 999_999, 0, 5, 6},
		{"instant ahead", time.Microsecond, epoch + 5, 0, 5},
		{"instant in the past", time.Microsecond, epoch - 5, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			now := instantOf(time.UnixMilli(epoch).Add(tt.fraction))
			if got := now.due(tt.at, tt.delay) - epoch; got != tt.want {
				t.Errorf("due %d ms from now, want %d", got, tt.want)
			}
		})
	}
}

func TestClock_InstantsBefore1970RoundTowardsThePast(t *testing.T) {
	t.Parallel()
	now := instantOf(time.UnixMicro(-1))
	if now.ms != -1 || now.fraction != 999*time.Microsecond || now.up() != 0 {
		t.Errorf("got %+v, next millisecond %d", now, now.up())
	}
}

func TestClock_Until(t *testing.T) {
	t.Parallel()
	now := instantOf(time.UnixMilli(epoch).Add(250 * time.Microsecond))
	tests := []struct {
		name string
		at   int64
		want time.Duration
	}{
		{"reached", epoch, 0},
		{"the rest of a millisecond", epoch + 1, 750 * time.Microsecond},
		{"just under the longest", epoch + 3_600_000, time.Hour - 250*time.Microsecond},
		{"over the longest", epoch + 3_600_001, store.MaxWait},
		{"never", never, store.MaxWait},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := now.until(tt.at); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestClaim_NotEarlyByAFractionOfAMillisecond(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.clock.move(time.Microsecond)
	m := message(1)
	m.Delay, m.TTL = 5, 10
	r.push(m)
	if got := r.record(1); got.At != epoch+6 || got.Expiry != epoch+11 {
		t.Fatalf("due %d, expiry %d ms from the whole millisecond, want 6, 11", got.At-epoch, got.Expiry-epoch)
	}
	r.clock.move(5 * time.Millisecond) // 5.001 ms: 5 have passed, the 6th has not
	if got := r.claimN(1); len(got.Deliveries) != 0 || got.Wait != 999*time.Microsecond {
		t.Fatalf("%d deliveries, wait %v", len(got.Deliveries), got.Wait)
	}
	r.clock.move(999 * time.Microsecond)
	if got := r.claimN(1); len(got.Deliveries) != 1 || got.Deliveries[0].Due != epoch+6 {
		t.Fatalf("got %+v, want the message", got)
	}
}

func TestPush_MaxDelayIsAcceptedAtAnyFractionOfAMillisecond(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.clock.move(time.Microsecond)
	fits, tooFar := message(1), message(2)
	fits.Delay = store.MaxDelay
	tooFar.Due = epoch + 2 + store.MaxDelay
	got := r.push(fits, tooFar)
	if got[0].Code != store.CodeOK || got[1].Code != store.CodeTooFar {
		t.Errorf("got %v, want ok and too_far", got)
	}
}
