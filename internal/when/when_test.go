package when_test

import (
	"testing"
	"time"

	"github.com/dueq-dev/dueq/internal/when"
)

func TestSpan(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "30m": 30 * time.Minute, "1h30m": 90 * time.Minute, "1.5s": 1500 * time.Millisecond,
		"2d": 48 * time.Hour, "1.5d": 36 * time.Hour, "1d12h": 36 * time.Hour, "0d": 0, "3660d": 3660 * when.Day,
		"1w": when.Week, "0w": 0, "0.5w": 84 * time.Hour, "1w2d": 9 * when.Day, "1w2d3h": 9*when.Day + 3*time.Hour, "2w30m": 2*when.Week + 30*time.Minute,
	} {
		if got, err := when.Span(text); err != nil || got != want {
			t.Errorf("Span(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestSpan_InvalidTextIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", "1h1", "tomorrow", "NaN", "nand", "Inf", "infd", "9e999s", "9e999d", "-3s", "-1d", "1d-2h", "1d+2h", "d", ".d", "1d1d",
		"30", "1_000d", "0x1d", "106752d", "106751d24h", "9999999999h", "1dd", "w", "1ww", "1w1w", "1d1w", "1w-1d", "-1w", "15251w", "15250w9d", "1h1w", "1w ", "1h2d", "٣s", "1d\x00", "1d ",
	} {
		if got, err := when.Span(text); err == nil {
			t.Errorf("Span(%q) = %v, want an error", text, got)
		}
	}
}

func TestInstant(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Time{
		"1970-01-01T00:00:00Z":           time.Unix(0, 0),
		"2001-01-01T00:47:00Z":           time.Unix(978310020, 0),
		"2001-01-01T02:47:00.5+02:00":    time.Unix(978310020, 500_000_000),
		"9999-12-31T23:59:59.999999999Z": time.Unix(253402300799, 999_999_999),
	} {
		if got, err := when.Instant(text); err != nil || !got.Equal(want) {
			t.Errorf("Instant(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestInstant_InvalidTextIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "tomorrow", "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "2001-02-30T00:00:00Z",
		"2001-01-01", "2001-01-01 00:00:00Z", "2001-01-01T00:00:00", "978310020", "2001-01-01T25:00:00Z", "NaN",
	} {
		if got, err := when.Instant(text); err == nil {
			t.Errorf("Instant(%q) = %v, want an error", text, got)
		}
	}
}

func FuzzSpan(f *testing.F) {
	for _, seed := range []string{"1d12h", "9e999s", "1h1", "-1d", "106751d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := when.Span(text); err == nil && d < 0 {
			t.Errorf("Span(%q) = %v, want nothing negative", text, d)
		}
	})
}

func TestRange(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	none := time.Time{}
	for text, want := range map[string][2]time.Time{
		"-2h..":                     {now.Add(-2 * time.Hour), none},
		"..30m":                     {none, now.Add(30 * time.Minute)},
		"-1d..-1h":                  {now.Add(-24 * time.Hour), now.Add(-time.Hour)},
		"2030-01-31T18:00:00Z..60d": {time.Date(2030, 1, 31, 18, 0, 0, 0, time.UTC), now.Add(60 * 24 * time.Hour)},
		"0s..":                      {now, none},
	} {
		from, to, err := when.Range(text, now)
		if err != nil || !from.Equal(want[0]) || !to.Equal(want[1]) {
			t.Errorf("%q is %s to %s, %v, want %s to %s", text, from, to, err, want[0], want[1])
		}
	}
	for _, text := range []string{"", "..", "1h", "yesterday..", "..tomorrow", "--1h..", "2030-01-31.."} {
		if from, to, err := when.Range(text, now); err == nil || !from.IsZero() || !to.IsZero() {
			t.Errorf("%q is %s to %s, %v, want an error", text, from, to, err)
		}
	}
}

func TestRate(t *testing.T) {
	for text, want := range map[string]float64{"20/s": 20, "90/m": 1.5, "36/h": 0.01, " 5 / s ": 5} {
		if got, err := when.Rate(text); err != nil || got != want {
			t.Errorf("Rate(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "5", "0/s", "-1/s", "1.5/s", "1/d", "s", "/s", "4294967296/s"} {
		if got, err := when.Rate(text); err == nil {
			t.Errorf("Rate(%q) = %v, want an error", text, got)
		}
	}
}
