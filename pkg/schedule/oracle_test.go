package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/schedule"
)

var oracleZones = []string{
	"America/Los_Angeles", "America/Chicago", "America/Santiago", "America/St_Johns", "Australia/Lord_Howe",
	"Europe/Berlin", "Europe/London", "Africa/Casablanca", "Asia/Kolkata", "Pacific/Apia",
}

// oracle decides by walking minute by minute: slow, and right by inspection. It knows plain lists, * and n/step.
type oracle struct {
	minutes, hours, dates, weekdays []int // nil: any
	allHours                        bool
}

func (o oracle) names(wall time.Time) bool {
	in := func(set []int, v int) bool { return set == nil || slices.Contains(set, v) }
	return in(o.minutes, wall.Minute()) && in(o.hours, wall.Hour()) && in(o.dates, wall.Day()) && in(o.weekdays, int(wall.Weekday())+1)
}

// walk lists what fires, and what is skipped, from one instant to another, both whole minutes.
func (o oracle) walk(from, to time.Time, zone *time.Location) []string {
	wallAt := func(at time.Time) time.Time {
		l := at.In(zone)
		return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, time.UTC)
	}
	seen := map[time.Time]bool{}
	for at := from.Add(-3 * time.Hour); at.Before(from); at = at.Add(time.Minute) {
		seen[wallAt(at)] = true
	}
	var out []string
	last := wallAt(from.Add(-time.Minute))
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		wall := wallAt(at)
		for w := last.Add(time.Minute); w.Before(wall); w = w.Add(time.Minute) {
			if o.names(w) {
				out = append(out, "skipped "+w.Format("2006-01-02T15:04"))
			}
		}
		if o.names(wall) && (!seen[wall] || o.allHours) {
			out = append(out, at.UTC().Format("2006-01-02T15:04Z"))
		}
		seen[wall] = true
		last = wall
	}
	return out
}

func walkSchedule(s schedule.Schedule, from, to time.Time) []string {
	var out []string
	for at := from.Add(-time.Nanosecond); ; {
		f, ok := s.Next(at)
		for _, w := range f.Skipped {
			if !ok || f.At.Before(to) {
				out = append(out, "skipped "+w.Format("2006-01-02T15:04"))
			}
		}
		if !ok || !f.At.Before(to) {
			return out
		}
		out = append(out, f.At.UTC().Format("2006-01-02T15:04Z"))
		at = f.At
	}
}

func randomField(r *rand.Rand, low, high int) (string, []int) {
	switch r.IntN(4) {
	case 0:
		return "*", nil
	case 1:
		start, step := low+r.IntN(high-low+1), 1+r.IntN(high-low+1)
		var set []int
		for v := start; v <= high; v += step {
			set = append(set, v)
		}
		return fmt.Sprintf("%d/%d", start, step), set
	default:
		var set []int
		var words []string
		for range 1 + r.IntN(3) {
			v := low + r.IntN(high-low+1)
			set, words = append(set, v), append(words, strconv.Itoa(v))
		}
		return strings.Join(words, ","), set
	}
}

// randomCron names the hours in which clocks are changed more often than others.
func randomCron(r *rand.Rand) (string, oracle) {
	var o oracle
	var minute, hour string
	minute, o.minutes = randomField(r, 0, 59)
	if r.IntN(2) == 0 {
		h := r.IntN(4)
		hour, o.hours = strconv.Itoa(h), []int{h}
	} else {
		hour, o.hours = randomField(r, 0, 23)
	}
	hours := map[int]bool{}
	for _, h := range o.hours {
		hours[h] = true
	}
	o.allHours = o.hours == nil || len(hours) == 24
	date, weekday := "?", "?"
	if r.IntN(3) == 0 {
		weekday, o.weekdays = randomField(r, 1, 7)
	} else {
		date = "*"
	}
	return fmt.Sprintf("cron(%s %s %s * %s *)", minute, hour, date, weekday), o
}

// transitions are the instants of twenty years at which a zone's clock is changed, to the hour.
func transitions(zone *time.Location) []time.Time {
	var out []time.Time
	end := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	_, offset := time.Date(2007, 1, 1, 0, 0, 0, 0, time.UTC).In(zone).Zone()
	for at := time.Date(2007, 1, 1, 0, 0, 0, 0, time.UTC); at.Before(end); at = at.Add(time.Hour) {
		if _, now := at.In(zone).Zone(); now != offset {
			offset, out = now, append(out, at)
		}
	}
	return out
}

// The schedule agrees with the oracle in ten zones: around every change of the clock in twenty years, and in random weeks.
func TestAgreesWithTheMinuteByMinuteOracle(t *testing.T) {
	t.Parallel()
	for i, name := range oracleZones {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zone, err := schedule.Zone(name)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(20, uint64(i)))
			checked := 0
			compare := func(from, to time.Time, n int) {
				for range n {
					expression, o := randomCron(r)
					s, err := schedule.Parse(expression, zone)
					if err != nil {
						t.Fatalf("%s: %v", expression, err)
					}
					want, got := o.walk(from, to, zone), walkSchedule(s, from, to)
					checked += len(want)
					// A skip is told with the next fire: one without a fire after it in the window may be missing.
					for len(want) > len(got) && strings.HasPrefix(want[len(want)-1], "skipped") {
						want = want[:len(want)-1]
					}
					if !slices.Equal(want, got) {
						t.Fatalf("%s from %s:\nwant %v\n got %v", expression, from, want, got)
					}
				}
			}
			for _, at := range transitions(zone) {
				compare(at.Add(-12*time.Hour), at.Add(12*time.Hour), samples)
			}
			for range 4 {
				from := time.Date(2007, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(r.IntN(20*365*24*60)) * time.Minute)
				compare(from, from.Add(7*24*time.Hour), 4)
			}
			if checked < 100*samples {
				t.Errorf("only %d fires were compared", checked)
			}
		})
	}
}

func BenchmarkNext(b *testing.B) {
	s := parse(b, "cron(0 7 ? * MON-FRI *)", "Europe/Berlin")
	at := time.Date(2026, 11, 30, 7, 0, 0, 0, time.UTC)
	for b.Loop() {
		if _, ok := s.Next(at); !ok {
			b.Fatal("no fire")
		}
	}
}

// What is parsed fires after the time asked for, names itself, and never hangs.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"cron(0 7 ? * MON-FRI *)", "cron(0 0 LW 2/3 ? 2026-2199)", "cron(0 10 ? * 3#5 *)", "cron(1/10 */5 31W 2 ? *)",
		"cron(0 0 29 2 ? 2100)", "rate(1 day)", "rate(2147483647 days)", "at(2026-03-29T02:30:00)", "cron(* * ? * L,FRIL *)",
	} {
		f.Add(s, int64(1_790_000_000))
	}
	zone, err := schedule.Zone("America/Santiago")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, expression string, seconds int64) {
		s, err := schedule.Parse(expression, zone)
		if err != nil {
			return
		}
		after := time.Unix(seconds%4_000_000_000, 0)
		if fire, ok := s.Next(after); ok && !fire.At.After(after) {
			t.Errorf("%s fires at %s after %s", expression, fire.At, after)
		}
		if s.Describe() == "" {
			t.Errorf("%s has no description", expression)
		}
		if d, ok := s.Interval(); ok && d < time.Minute {
			t.Errorf("%s: interval %s", expression, d)
		}
		again, err := schedule.Parse(s.String(), zone)
		if err != nil || again.Describe() != s.Describe() {
			t.Errorf("%s is not %s: %v", s, expression, err)
		}
	})
}

func FuzzParseMoment(f *testing.F) {
	for _, s := range []string{"4h", "Thu 10:00", "17:00", "2026-11-30T07:00:00Z", "2y14d"} {
		f.Add(s)
	}
	zone, err := schedule.Zone("Australia/Lord_Howe")
	if err != nil {
		f.Fatal(err)
	}
	start := time.Date(2026, 4, 4, 14, 30, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := schedule.ParseMoment(text)
		if err != nil {
			return
		}
		if d, ok := m.After(); ok && !m.At(start, zone).Equal(start.Add(d)) {
			t.Errorf("%s: %s", text, m.At(start, zone))
		}
	})
}
