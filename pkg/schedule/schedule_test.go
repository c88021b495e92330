package schedule_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop/pkg/schedule"
)

func parse(t testing.TB, expression, zone string) schedule.Schedule {
	t.Helper()
	z, err := schedule.Zone(zone)
	if err != nil {
		t.Fatal(err)
	}
	s, err := schedule.Parse(expression, z)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fires lists the local times from a local date to another, with what was skipped before each.
func fires(t testing.TB, s schedule.Schedule, from, to string) []string {
	t.Helper()
	at, err := time.ParseInLocation(time.DateOnly, from, s.Zone())
	if err != nil {
		t.Fatal(err)
	}
	end, _ := time.ParseInLocation(time.DateOnly, to, s.Zone())
	at = at.Add(-time.Second)
	var out []string
	for {
		f, ok := s.Next(at)
		for _, w := range f.Skipped {
			if w.Format(time.DateOnly) < to {
				out = append(out, "skipped "+w.Format("01-02T15:04"))
			}
		}
		if !ok || !f.At.Before(end) {
			return out
		}
		text := f.At.Format("01-02T15:04-07:00")
		if f.Repeated {
			text += " again"
		}
		out = append(out, text)
		at = f.At
	}
}

func TestClockChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ expression, zone, from, to, want string }{
		{"cron(0 2 * * ? *)", "America/Los_Angeles", "2025-03-08", "2025-03-11", "03-08T02:00-08:00, skipped 03-09T02:00, 03-10T02:00-07:00"},
		{"cron(0 1 * * ? *)", "America/Los_Angeles", "2025-11-02", "2025-11-04", "11-02T01:00-07:00, 11-03T01:00-08:00"},
		{"cron(0 10 * * ? *)", "America/Chicago", "2025-03-09", "2025-03-10", "03-09T10:00-05:00"},
		{"cron(0 0 * * ? *)", "America/Santiago", "2025-09-06", "2025-09-09", "09-06T00:00-04:00, skipped 09-07T00:00, 09-08T00:00-03:00"},
		{"cron(15,45 2 * * ? *)", "Australia/Lord_Howe", "2025-10-05", "2025-10-06", "skipped 10-05T02:15, 10-05T02:45+11:00"},
		{"cron(45 1 * * ? *)", "Australia/Lord_Howe", "2025-04-06", "2025-04-07", "04-06T01:45+11:00"},
		{"cron(0 12 30 12 ? 2011)", "Pacific/Apia", "2011-12-29", "2012-01-02", "skipped 12-30T12:00"},
		{"cron(30 2 9 3 ? 2025)", "America/New_York", "2025-03-01", "2026-01-01", "skipped 03-09T02:30"},
		{"at(2025-03-09T02:30:00)", "America/New_York", "2025-03-01", "2026-01-01", "skipped 03-09T02:30"},
		{"at(2025-11-02T01:30:00)", "America/New_York", "2025-03-01", "2026-01-01", "11-02T01:30-04:00"},
	} {
		got := strings.Join(fires(t, parse(t, c.expression, c.zone), c.from, c.to), ", ")
		if got != c.want {
			t.Errorf("%s in %s:\n got %s\nwant %s", c.expression, c.zone, got, c.want)
		}
	}
	hourly := parse(t, "cron(0 * * * ? *)", "America/Chicago")
	count := func(from, to string) (n int) {
		for _, f := range fires(t, hourly, from, to) {
			if !strings.HasPrefix(f, "skipped") {
				n++
			}
		}
		return n
	}
	if short, long := count("2025-03-09", "2025-03-10"), count("2025-11-02", "2025-11-03"); short != 23 || long != 25 {
		t.Errorf("hourly: %d on the short day, %d on the long one", short, long)
	}
}

func TestExpressions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ expression, want string }{
		{"cron(0 7 ? * MON-FRI *)", "01-01T07:00 01-02T07:00 01-05T07:00"},
		{"cron(0 7 ? * 2-6 *)", "01-01T07:00 01-02T07:00 01-05T07:00"},
		{"cron(0 7 ? * 1 *)", "01-04T07:00 01-11T07:00 01-18T07:00"},
		{"cron(0 7 ? * L *)", "01-03T07:00 01-10T07:00 01-17T07:00"},
		{"cron(0 10 ? * 6L 2026)", "01-30T10:00 02-27T10:00 03-27T10:00"},
		{"cron(0 10 ? * FRIL *)", "01-30T10:00 02-27T10:00 03-27T10:00"},
		{"cron(0 10 ? * 3#2 *)", "01-13T10:00 02-10T10:00 03-10T10:00"},
		{"cron(0 10 ? * THU#5 *)", "01-29T10:00 04-30T10:00 07-30T10:00"},
		{"cron(0 0 L * ? *)", "01-31T00:00 02-28T00:00 03-31T00:00"},
		{"cron(0 0 LW * ? *)", "01-30T00:00 02-27T00:00 03-31T00:00"},
		{"cron(0 0 1W * ? *)", "01-01T00:00 02-02T00:00 03-02T00:00"},
		{"cron(0 0 31W * ? *)", "01-30T00:00 03-31T00:00 05-29T00:00"},
		{"cron(0 8 1 JAN,APR,JUL,OCT ? *)", "01-01T08:00 04-01T08:00 07-01T08:00"},
		{"cron(1/10 0 1 1 ? 2026)", "01-01T00:01 01-01T00:11 01-01T00:21"},
		{"cron(0/30 9-10 ? * MON *)", "01-05T09:00 01-05T09:30 01-05T10:00"},
		{"cron(0 0 29 2 ? *)", "02-29T00:00 02-29T00:00 02-29T00:00"},
		{"cron(5 */6 * * ? *)", "01-01T00:05 01-01T06:05 01-01T12:05"},
		{"rate(90 minutes)", "01-01T00:00 01-01T01:30 01-01T03:00"},
		{"rate(1 day)", "01-01T00:00 01-02T00:00 01-03T00:00"},
		{"at(2026-11-30T07:00:30)", "11-30T07:00"},
	} {
		s := parse(t, c.expression, "UTC")
		at := time.Date(2025, 12, 31, 23, 59, 59, 0, time.UTC)
		var got []string
		for range 3 {
			f, ok := s.Next(at)
			if !ok {
				break
			}
			got, at = append(got, f.At.Format("01-02T15:04")), f.At
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: got %s, want %s", c.expression, text, c.want)
		}
	}
}

func TestParseRefusesWhatEventBridgeRefuses(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"cron(0 7 * * MON-FRI *)":   "exactly one of day-of-month and day-of-week must be ?",
		"cron(0 7 ? * ? *)":         "exactly one of day-of-month and day-of-week must be ?",
		"cron(0 7 * * *)":           "has 5 fields",
		"cron(60 7 ? * MON *)":      `"60" in the field minutes: it takes 0 to 59`,
		"cron(0 24 ? * MON *)":      "hours",
		"cron(0 7 ? * 0 *)":         "day-of-week: it takes 1 to 7",
		"cron(0 7 ? * 8 *)":         "day-of-week",
		"cron(0 7 ? * 3#6 *)":       "after # stands",
		"cron(0 7 ? * 3#1,6#3 *)":   "only one value",
		"cron(0 7 ? * FRI-MON *)":   "runs backwards",
		"cron(0 7 0 * ? *)":         "day-of-month",
		"cron(0 7 30 2 ? *)":        "never fires",
		"cron(0 7 ? JANUARY MON *)": "month",
		"cron(0 7 ? * MON 1969)":    "year",
		"cron(0/0 7 ? * MON *)":     "step",
		"cron(0 7 ? * MON,, *)":     "day-of-week",
		"cron(+5 7 ? * MON *)":      "minutes",
		"rate(1 minutes)":           "rate(1 minute)",
		"rate(5 minute)":            "rate(5 minutes)",
		"rate(0 minutes)":           "whole number",
		"rate(-1 minutes)":          "whole number",
		"rate(30 seconds)":          "minutes, hours or days",
		"rate(5)":                   "whole number",
		"at(2026-11-30)":            "at(yyyy-mm-ddThh:mm:ss)",
		"0 7 * * *":                 "write cron(",
		"every(5 minutes)":          "must be cron",
		"cron(0 7 ? * MON *":        "write cron(",
	} {
		_, err := schedule.Parse(expression, nil)
		if err == nil || !errors.Is(err, schedule.ErrExpression) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", expression, err, want)
		}
	}
}

func TestIntervalAndDescribe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		expression, words string
		least             time.Duration
	}{
		{"cron(0 7 ? * MON-FRI *)", "at 07:00 Monday to Friday", 24 * time.Hour},
		{"cron(0 7 * * ? *)", "at 07:00 every day", 24 * time.Hour},
		{"cron(0 8,20 * * ? *)", "at 08:00 and 20:00 every day", 12 * time.Hour},
		{"cron(0/5 * * * ? *)", "every 5 minutes every day", 5 * time.Minute},
		{"cron(* 9-17 ? * MON-FRI *)", "every minute from 09:00 to 17:59 Monday to Friday", time.Minute},
		{"cron(58,0 23,0 * * ? *)", "at 00:00, 00:58, 23:00 and 23:58 every day", 2 * time.Minute},
		{"cron(58,0 23,0 ? * MON *)", "at 00:00, 00:58, 23:00 and 23:58 Monday", 58 * time.Minute},
		{"cron(0 * * * ? *)", "every hour every day", time.Hour},
		{"cron(0 10 ? * 6L *)", "at 10:00 on the last Friday of the month", 28 * 24 * time.Hour},
		{"cron(0 10 ? * SUN,TUE *)", "at 10:00 Tuesday and Sunday", 48 * time.Hour},
		{"cron(0 8 1 JAN,APR,JUL,OCT ? *)", "at 08:00 on day 1 of the month in January, April, July and October", 90 * 24 * time.Hour},
		{"cron(0 0 L * ? 2027-2029)", "at 00:00 on the last day of the month in 2027 to 2029", 28 * 24 * time.Hour},
		{"cron(0 6 3W * ? *)", "at 06:00 on the weekday nearest to day 3 of the month", 28 * 24 * time.Hour},
		{"rate(30 minutes)", "every 30 minutes", 30 * time.Minute},
		{"rate(1 day)", "every day", 24 * time.Hour},
		{"at(2026-11-30T07:00:00)", "once, on 30 November 2026 at 07:00:00", 0},
	} {
		s := parse(t, c.expression, "Europe/Berlin")
		if got := s.Describe(); got != c.words {
			t.Errorf("%s: got %q, want %q", c.expression, got, c.words)
		}
		if got, _ := s.Interval(); got != c.least {
			t.Errorf("%s: got %s, want %s", c.expression, got, c.least)
		}
	}
}

func TestCatchUpIsBoundedAndSaysWhatItDropped(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 7, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		expression, catchUp string
		since               time.Duration
		due                 int
		dropped             int
		more                bool
	}{
		{"cron(0 7 * * ? *)", "last", 30 * schedule.Day, 1, 29, false},
		{"cron(0 7 * * ? *)", "none", 30 * schedule.Day, 0, 30, false},
		{"cron(0 7 * * ? *)", "5", 30 * schedule.Day, 5, 25, false},
		{"cron(0 7 * * ? *)", "5", 2 * schedule.Day, 2, 0, false},
		{"cron(0 7 * * ? *)", "last", 0, 0, 0, false},
		{"rate(1 minute)", "3", 30 * schedule.Day, 3, 43197, false},
		{"rate(1 minute)", "3", 365 * schedule.Day, 3, 100000, true},
		{"cron(0/1 12 ? * MON *)", "100", 40 * schedule.Year, 100, 100000, true},
	} {
		policy, err := schedule.ParseCatchUp(c.catchUp)
		if err != nil {
			t.Fatal(err)
		}
		b := parse(t, c.expression, "UTC").Missed(now.Add(-c.since), now, policy)
		if len(b.Due) != c.due || b.Dropped != c.dropped || b.More != c.more {
			t.Errorf("%s %s: %d due, %d dropped, more %v", c.expression, c.catchUp, len(b.Due), b.Dropped, b.More)
		}
		if n := len(b.Due); n > 0 && c.expression == "rate(1 minute)" && !b.Due[n-1].At.Equal(now) {
			t.Errorf("%s: the last due is %s", c.expression, b.Due[n-1].At)
		}
	}
	for _, bad := range []string{"", "-1", "101", "all"} {
		if _, err := schedule.ParseCatchUp(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "15m": 15 * time.Minute, "4h": 4 * time.Hour, "14d": 14 * 24 * time.Hour,
		"2y": 730 * 24 * time.Hour, "1h30m": 90 * time.Minute, "2w": 14 * 24 * time.Hour,
	} {
		got, err := schedule.ParseDuration(text)
		if err != nil || got != want {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "5", "m", "5 m", "1.5h", "-1h", "0s", "30m1h", "1h1h", "1h2", "5M", "300y", "99999999999999999999s", "1ms"} {
		if got, err := schedule.ParseDuration(text); err == nil {
			t.Errorf("%q was taken as %s", text, got)
		}
	}
	if got := schedule.FormatDuration(14*schedule.Day + 90*time.Minute); got != "14d1h30m" {
		t.Error(got)
	}
}

func TestMoments(t *testing.T) {
	t.Parallel()
	zone, err := schedule.Zone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 3, 26, 10, 0, 0, 0, zone) // a Thursday; the clock changes on Sunday at 02:00
	got := map[string]string{}
	want := map[string]string{
		"4h": "2026-03-26T14:00:00+01:00", "14d": "2026-04-09T11:00:00+02:00", "Thu 10:00": "2026-04-02T10:00:00+02:00",
		"thursday 10:01": "2026-03-26T10:01:00+01:00", "17:00": "2026-03-26T17:00:00+01:00", "10:00": "2026-03-27T10:00:00+01:00",
		"Sun 02:30": "2026-03-29T03:00:00+02:00", "2026-12-24T18:00:00Z": "2026-12-24T18:00:00Z",
	}
	for text := range want {
		m, err := schedule.ParseMoment(text)
		if err != nil {
			t.Fatal(err)
		}
		got[text] = m.At(start, zone).Format(time.RFC3339)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"", "soon", "Thu", "Foo 10:00", "Thu 25:00", "24:00", "10:5", "Thu 10:00 x", "1:30pm"} {
		if m, err := schedule.ParseMoment(text); err == nil {
			t.Errorf("%q was taken as %v", text, m)
		}
	}
}
