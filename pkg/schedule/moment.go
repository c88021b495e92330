package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Moment is a point in time as loops name it: "4h" from now, the next "17:00", the next "Thu 10:00", or a fixed time.
type Moment struct {
	text    string
	after   time.Duration
	fixed   time.Time
	weekday int // 0 Sunday … 6 Saturday; -1 any day
	minute  int // of the day, in the zone
}

var weekdays = [...]string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}

// ParseMoment reads a duration (see ParseDuration), a time of day ("17:00"), a weekday and time ("Thu 10:00"), or an RFC 3339 time.
func ParseMoment(text string) (Moment, error) {
	m := Moment{text: text, weekday: -1}
	if d, err := ParseDuration(text); err == nil {
		m.after = d
		return m, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		m.fixed = t
		return m, nil
	}
	clock := text
	if day, rest, found := strings.Cut(text, " "); found {
		m.weekday = weekdayNamed(day)
		if m.weekday < 0 {
			return Moment{}, fmt.Errorf("%q has no weekday; write Sun, Mon, Tue, Wed, Thu, Fri or Sat, such as Thu 10:00", text)
		}
		clock = strings.TrimSpace(rest)
	}
	minute, ok := parseClock(clock)
	if !ok {
		return Moment{}, fmt.Errorf("%q is no point in time; write a duration (4h), a time of day (17:00), a weekday and time (Thu 10:00) or an RFC 3339 time", text)
	}
	m.minute = minute
	return m, nil
}

func weekdayNamed(name string) int {
	name = strings.ToUpper(name)
	for i, short := range weekdays {
		if name == short || name == strings.ToUpper(time.Weekday(i).String()) {
			return i
		}
	}
	return -1
}

func parseClock(s string) (minute int, ok bool) {
	h, m, found := strings.Cut(s, ":")
	if !found || len(h) == 0 || len(h) > 2 || len(m) != 2 {
		return 0, false
	}
	hour, err1 := strconv.ParseUint(h, 10, 8)
	min, err2 := strconv.ParseUint(m, 10, 8)
	if err1 != nil || err2 != nil || hour > 23 || min > 59 {
		return 0, false
	}
	return int(hour*60 + min), true
}

// String is the text that was parsed.
func (m Moment) String() string { return m.text }

// After gives the duration when the moment is one.
func (m Moment) After() (time.Duration, bool) { return m.after, m.after > 0 }

// At is the moment seen from a start: start plus the duration, the fixed time, or the first such local time strictly after
// start. A local time that a clock change leaves out is the first instant after the gap; of a repeated one it is the first.
func (m Moment) At(start time.Time, zone *time.Location) time.Time {
	switch {
	case m.after > 0:
		return start.Add(m.after)
	case !m.fixed.IsZero():
		return m.fixed
	}
	local := start.In(zone)
	for day := 0; ; day++ {
		date := time.Date(local.Year(), local.Month(), local.Day()+day, 12, 0, 0, 0, time.UTC)
		if m.weekday >= 0 && int(date.Weekday()) != m.weekday {
			continue
		}
		if at := instantOf(date, m.minute, zone); at.After(start) {
			return at
		}
	}
}

// instantOf is the first instant at which the zone's clock shows that minute of that day or, where it skips it, a later one.
func instantOf(date time.Time, minute int, zone *time.Location) time.Time {
	wall := time.Date(date.Year(), date.Month(), date.Day(), 0, minute, 0, 0, time.UTC)
	if at, ok := firstInstant(wall, zone); ok {
		return at
	}
	return gapEnd(wall, zone)
}

// gapEnd is the first instant after the gap into which a wall time falls: the moment at which the offset changes.
func gapEnd(wall time.Time, zone *time.Location) time.Time {
	low, high := wall.Add(-26*time.Hour), wall.Add(26*time.Hour)
	for high.Sub(low) > time.Second {
		mid := low.Add(high.Sub(low) / 2).Truncate(time.Second)
		if mid.After(low) && wallOf(mid, zone).Before(wall) {
			low = mid
		} else {
			high = mid
		}
	}
	return high.In(zone)
}

// wallOf is what the zone's clock shows at an instant, as if it were UTC.
func wallOf(at time.Time, zone *time.Location) time.Time {
	_, offset := at.In(zone).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// firstInstant finds the earliest instant at which the zone's clock shows a wall time (given as if in UTC); false where no
// instant does.
func firstInstant(wall time.Time, zone *time.Location) (time.Time, bool) {
	var found time.Time
	for _, near := range []time.Duration{-26 * time.Hour, 0, 26 * time.Hour} {
		_, offset := wall.Add(near).In(zone).Zone()
		at := wall.Add(-time.Duration(offset) * time.Second)
		if wallOf(at, zone).Equal(wall) && (found.IsZero() || at.Before(found)) {
			found = at
		}
	}
	if found.IsZero() {
		return time.Time{}, false
	}
	return found.In(zone), true
}

// secondInstant finds a later instant at which the zone's clock shows the same wall time.
func secondInstant(first, wall time.Time, zone *time.Location) (time.Time, bool) {
	at := wall.Add(-offsetAt(first.Add(26*time.Hour), zone))
	if at.After(first) && wallOf(at, zone).Equal(wall) {
		return at.In(zone), true
	}
	return time.Time{}, false
}
