package series

import (
	"errors"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones of the tables below, on every machine

	"github.com/dueq-dev/dueq/store"
)

// times returns the first n times after an instant, as the clocks of the zone show them.
func times(t *testing.T, text, after string, n int) []string {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	from, err := time.Parse(time.RFC3339Nano, after)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for at := from.UnixMilli(); len(all) < n; {
		if at, err = s.Next(at, at); err != nil {
			t.Fatalf("%q after %v: %v", text, all, err)
		}
		zone := time.UTC
		if s.zone != nil {
			zone = s.zone
		}
		all = append(all, time.UnixMilli(at).In(zone).Format("2006-01-02T15:04:05Z07:00"))
	}
	return all
}

func TestNext_DaylightSaving(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text, after string
		want              string
	}{
		{
			"Berlin: 02:30 does not exist on the last Sunday of March", "cron 30 2 * * * Europe/Berlin", "2026-03-27T12:00:00Z",
			"2026-03-28T02:30:00+01:00 2026-03-29T03:00:00+02:00 2026-03-30T02:30:00+02:00",
		},
		{
			"Berlin: all that does not exist is one time", "cron */20 1-3 * * * Europe/Berlin", "2026-03-29T00:19:00Z",
			"2026-03-29T01:20:00+01:00 2026-03-29T01:40:00+01:00 2026-03-29T03:00:00+02:00 2026-03-29T03:20:00+02:00",
		},
		{
			"Berlin: 02:30 exists twice on the last Sunday of October, and runs the first time", "cron 30 2 * * * Europe/Berlin", "2026-10-24T12:00:00Z",
			"2026-10-25T02:30:00+02:00 2026-10-26T02:30:00+01:00",
		},
		{
			"Berlin: asked in the second hour, the first has run", "cron 30 2 * * * Europe/Berlin", "2026-10-25T01:10:00Z", // 02:10 for the second time
			"2026-10-26T02:30:00+01:00",
		},
		{
			"Berlin: each time of the hour that exists twice runs once", "cron */30 * * * * Europe/Berlin", "2026-10-24T23:45:00Z",
			"2026-10-25T02:00:00+02:00 2026-10-25T02:30:00+02:00 2026-10-25T03:00:00+01:00 2026-10-25T03:30:00+01:00",
		},
		{
			"Berlin: around the change the hours continue", "cron 0 1,3 * * * Europe/Berlin", "2026-10-24T22:00:00Z",
			"2026-10-25T01:00:00+02:00 2026-10-25T03:00:00+01:00",
		},
		{
			"New York: 02:30 does not exist", "cron 30 2 * * * America/New_York", "2026-03-07T12:00:00Z",
			"2026-03-08T03:00:00-04:00 2026-03-09T02:30:00-04:00",
		},
		{
			"New York: 01:30 exists twice", "cron 30 1 * * * America/New_York", "2026-10-31T12:00:00Z",
			"2026-11-01T01:30:00-04:00 2026-11-02T01:30:00-05:00",
		},
		{
			"Lord Howe: half an hour does not exist", "cron 15 2 * * * Australia/Lord_Howe", "2026-10-02T20:00:00Z",
			"2026-10-04T02:30:00+11:00 2026-10-05T02:15:00+11:00",
		},
		{
			"Lord Howe: half an hour exists twice", "cron 45 1 * * * Australia/Lord_Howe", "2026-04-03T20:00:00Z",
			"2026-04-05T01:45:00+11:00 2026-04-06T01:45:00+10:30",
		},
		{
			"Cairo: midnight does not exist", "cron 0 0 * * * Africa/Cairo", "2026-04-22T12:00:00Z",
			"2026-04-23T00:00:00+02:00 2026-04-24T01:00:00+03:00 2026-04-25T00:00:00+03:00",
		},
		{
			"Cairo: the hour before midnight exists twice", "cron 30 23 * * * Africa/Cairo", "2026-10-28T22:00:00Z",
			"2026-10-29T23:30:00+03:00 2026-10-30T23:30:00+02:00",
		},
		{
			"Sao Paulo: midnight does not exist", "cron @daily America/Sao_Paulo", "2018-11-03T12:00:00Z",
			"2018-11-04T01:00:00-02:00 2018-11-05T00:00:00-02:00",
		},
		{
			"Sao Paulo: the hour before midnight exists twice", "cron 0 23 * * * America/Sao_Paulo", "2018-02-17T12:00:00Z",
			"2018-02-17T23:00:00-02:00 2018-02-18T23:00:00-03:00",
		},
		{
			"Apia: a whole day does not exist", "cron 0 12 30 12 * Pacific/Apia", "2011-12-01T00:00:00Z",
			"2011-12-31T00:00:00+14:00 2012-12-30T12:00:00+14:00",
		},
		{
			"UTC: has no changes", "cron 30 2 * * *", "2026-03-28T12:00:00Z",
			"2026-03-29T02:30:00Z 2026-03-30T02:30:00Z",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := strings.Fields(test.want)
			if got := times(t, test.text, test.after, len(want)); strings.Join(got, " ") != test.want {
				t.Errorf("%s\n got %s\nwant %s", test.text, strings.Join(got, " "), test.want)
			}
		})
	}
}

func TestNext_Expressions(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, after, want string }{
		{"cron 0 9 * * 1-5 Europe/Berlin", "2026-11-20T08:00:00Z", "2026-11-23T09:00:00+01:00 2026-11-24T09:00:00+01:00"},
		{"cron 0 9 * * THU UTC", "2026-11-20T08:00:00Z", "2026-11-26T09:00:00Z"},
		{"cron 0 0 13 * FRI UTC", "2026-11-01T00:00:00Z", "2026-11-06T00:00:00Z 2026-11-13T00:00:00Z 2026-11-20T00:00:00Z"},
		{"cron 0 0 13 * FRI UTC", "2026-12-11T12:00:00Z", "2026-12-13T00:00:00Z"},
		{"cron 0 18 L * * UTC", "2026-02-01T00:00:00Z", "2026-02-28T18:00:00Z 2026-03-31T18:00:00Z"},
		{"cron 0 0 29 2 * UTC", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z 2032-02-29T00:00:00Z"},
		{"cron @hourly UTC", "2026-01-01T00:00:00.001Z", "2026-01-01T01:00:00Z"},
		{"cron 0 0 * * * UTC", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"},
		{"cron 0 0 * * * UTC", "2025-12-31T23:59:59.999Z", "2026-01-01T00:00:00Z"},
		{"every 90m", "2026-01-01T00:00:00Z", "2026-01-01T01:30:00Z 2026-01-01T03:00:00Z"},
	}
	for _, test := range tests {
		want := strings.Fields(test.want)
		if got := times(t, test.text, test.after, len(want)); strings.Join(got, " ") != test.want {
			t.Errorf("%s after %s\n got %s\nwant %s", test.text, test.after, strings.Join(got, " "), test.want)
		}
	}
}

func TestNext_IntervalKeepsItsPhase(t *testing.T) {
	t.Parallel()
	s, err := Parse("every 10m")
	if err != nil {
		t.Fatal(err)
	}
	const minute = 60_000
	for _, test := range []struct{ after, want int64 }{{5, 15}, {6, 15}, {15, 25}, {24, 25}, {25, 35}, {1000, 1005}, {3, 15}, {-30, 15}} {
		if got, err := s.Next(5*minute, test.after*minute); got != test.want*minute || err != nil {
			t.Errorf("after minute %d: %d ms, %v, want minute %d", test.after, got, err, test.want)
		}
	}
}

func TestNext_Over(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"cron 0 0 30 2 * UTC", "cron 0 0 31 4 * UTC"} {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if at, err := s.Next(0, 0); !errors.Is(err, ErrOver) {
			t.Errorf("%s: %d, %v, want ErrOver", text, at, err)
		}
	}
	s := &Schedule{every: mostEvery}
	if at, err := s.Next(0, 0); at != store.MaxDelay || err != nil {
		t.Errorf("in 10 years: %d, %v", at, err)
	}
	if at, err := s.Next(1, 0); !errors.Is(err, ErrOver) {
		t.Errorf("in 10 years and a millisecond: %d, %v, want ErrOver", at, err)
	}
}

func TestSpec_TextIsCanonical(t *testing.T) {
	t.Parallel()
	tests := []struct {
		spec Spec
		want string
	}{
		{Spec{}, ""},
		{Spec{Every: 10 * time.Minute}, "every 10m0s"},
		{Spec{Every: time.Hour, CatchUp: true}, "every 1h0m0s catch-up"},
		{Spec{Cron: " 0 9\t* *   1-5"}, "cron 0 9 * * 1-5 UTC"},
		{Spec{Cron: "@daily", Zone: "Europe/Berlin", CatchUp: true}, "cron @daily Europe/Berlin catch-up"},
	}
	for _, test := range tests {
		got := test.spec.String()
		if got != test.want {
			t.Errorf("%+v: %q, want %q", test.spec, got, test.want)
		}
		if got == "" {
			continue
		}
		again, err := ParseSpec(got)
		if err != nil || again.String() != got {
			t.Errorf("%q is read as %+v, %v", got, again, err)
		}
	}
}

func TestSchedule_NamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	tests := []struct {
		spec  Spec
		field string
		has   string
	}{
		{Spec{Every: -time.Hour}, "every", "-1h0m0s is outside 1s to 87840h0m0s"},
		{Spec{Every: time.Millisecond}, "every", "1ms"},
		{Spec{Every: time.Second + 1}, "every", "1.000000001s"},
		{Spec{Every: 100_000 * time.Hour}, "every", "10 years"},
		{Spec{Every: time.Hour, Cron: "@daily"}, "repeat", "want one of them"},
		{Spec{Zone: "Europe/Berlin"}, "repeat", "neither"},
		{Spec{CatchUp: true}, "repeat", "neither"},
		{Spec{Cron: "0 9 * *"}, "cron", "0 9 * *"},
		{Spec{Cron: "61 9 * * *"}, "cron", "61"},
		{Spec{Cron: "H 9 * * *"}, "cron", "H 9"},
		{Spec{Cron: "@every 5m"}, "cron", "Every"},
		{Spec{Cron: "TZ=Europe/Berlin 0 9 * * *"}, "cron", "Zone"},
		{Spec{Cron: "0 9 * * *", Zone: "Local"}, "zone", "Local"},
		{Spec{Cron: "0 9 * * *", Zone: "Europe/Bernau"}, "zone", "Europe/Bernau"},
		{Spec{Cron: strings.Repeat("1,", 200) + "2 9 * * *"}, "repeat", "the limit is 255"},
	}
	for _, test := range tests {
		_, err := test.spec.Schedule()
		e, ok := errors.AsType[*store.Error](err)
		if !ok || !errors.Is(err, store.ErrInvalid) || e.Field != test.field || !strings.Contains(err.Error(), test.has) {
			t.Errorf("%+v: %v, want ErrInvalid of field %q that contains %q", test.spec, err, test.field, test.has)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"every 10m0s", "cron 0 9 * * 1-5 Europe/Berlin", "cron @daily UTC catch-up", "cron 0 0 L * FRI#3 UTC", "", "cron", "every -1s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := ParseSpec(text)
		if err != nil {
			return
		}
		s, err := spec.Schedule()
		if err != nil {
			return
		}
		again, err := ParseSpec(spec.String())
		if err != nil || again.String() != spec.String() {
			t.Fatalf("%q is written as %q and read as %+v, %v", text, spec.String(), again, err)
		}
		const now = 1_800_000_000_000
		if next, err := s.Next(now, now); err == nil && next <= now {
			t.Fatalf("%q: the time after %d is %d", text, now, next)
		}
	})
}
