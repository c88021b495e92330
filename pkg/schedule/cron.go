package schedule

import (
	"math/bits"
	"slices"
	"strings"
	"time"
)

const (
	firstYear = 1970
	lastYear  = 2199
)

// cron is a parsed expression: sets of minutes, hours, months and years, and a rule for days.
type cron struct {
	minutes uint64
	hours   uint64
	months  uint64
	years   []bool // by year - firstYear; nil is every year
	days    dayRule
	fields  [6]string
}

// dayRule says which days of a month match; exactly one of its parts is set.
type dayRule struct {
	dates       uint64   // days of the month
	last        bool     // L: the last day
	lastWorkday bool     // LW: the last day that is no Saturday or Sunday
	workdays    []int    // nW: the workday nearest to the n-th
	weekdays    uint64   // bits 0 (Sunday) to 6
	nth         []nthDay // d#n, and dL (n = 0)
}

type nthDay struct{ weekday, n int }

func (c *cron) everyHour() bool { return c.hours == 1<<24-1 }

func (c *cron) yearMatches(year int) bool {
	if year < firstYear || year > lastYear {
		return false
	}
	return c.years == nil || c.years[year-firstYear]
}

func (d *dayRule) matches(date time.Time) bool {
	day, weekday, length := date.Day(), int(date.Weekday()), monthLength(date)
	switch {
	case d.dates&(1<<day) != 0, d.weekdays&(1<<weekday) != 0, d.last && day == length:
		return true
	case d.lastWorkday && day == nearestWorkday(date, length, length):
		return true
	}
	for _, n := range d.workdays {
		if n <= length && day == nearestWorkday(date, n, length) {
			return true
		}
	}
	for _, n := range d.nth {
		if n.weekday == weekday && (n.n == (day+6)/7 || n.n == 0 && day+7 > length) {
			return true
		}
	}
	return false
}

func monthLength(date time.Time) int {
	return time.Date(date.Year(), date.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// nearestWorkday is the day of the date's month, Monday to Friday, that is nearest to the n-th.
func nearestWorkday(date time.Time, n, length int) int {
	switch time.Date(date.Year(), date.Month(), n, 0, 0, 0, 0, time.UTC).Weekday() {
	case time.Saturday:
		if n > 1 {
			return n - 1
		}
		return n + 2
	case time.Sunday:
		if n < length {
			return n + 1
		}
		return n - 2
	}
	return n
}

// nextDate is the first matching date on or after a date.
func (c *cron) nextDate(date time.Time) (time.Time, bool) {
	if date.Year() < firstYear {
		date = time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	for date.Year() <= lastYear {
		switch {
		case !c.yearMatches(date.Year()):
			date = time.Date(date.Year()+1, 1, 1, 0, 0, 0, 0, time.UTC)
		case c.months&(1<<date.Month()) == 0:
			date = time.Date(date.Year(), date.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		case c.days.matches(date):
			return date, true
		default:
			date = date.AddDate(0, 0, 1)
		}
	}
	return time.Time{}, false
}

// next looks through the matching dates from the day before (a clock set back over midnight returns to it).
func (c *cron) next(after time.Time, zone *time.Location) (Fire, bool) {
	wall := wallOf(after, zone)
	today := time.Date(wall.Year(), wall.Month(), wall.Day(), 0, 0, 0, 0, time.UTC)
	var skipped []gap
	var best *Fire
	date := today.AddDate(0, 0, -1)
	for {
		day, ok := c.nextDate(date)
		if !ok || best != nil && day.Sub(dateOf(best.At, zone)) > Day {
			break
		}
		fire, gaps := c.onDay(day, after, zone)
		skipped = append(skipped, gaps...)
		if fire != nil && (best == nil || fire.At.Before(best.At)) {
			best = fire
		}
		if fire != nil && !changes(day, zone) {
			break
		}
		date = day.AddDate(0, 0, 1)
	}
	out := Fire{}
	if best != nil {
		out = *best
	}
	for _, g := range skipped {
		if g.until.After(after) && (best == nil || !g.until.After(best.At)) {
			out.Skipped = append(out.Skipped, g.wall)
		}
	}
	return out, best != nil
}

func dateOf(at time.Time, zone *time.Location) time.Time {
	w := wallOf(at, zone)
	return time.Date(w.Year(), w.Month(), w.Day(), 0, 0, 0, 0, time.UTC)
}

// changes says whether the zone's clock is changed on or beside a date.
func changes(date time.Time, zone *time.Location) bool {
	return offsetAt(date.Add(-15*time.Hour), zone) != offsetAt(date.Add(39*time.Hour), zone)
}

func offsetAt(at time.Time, zone *time.Location) time.Duration {
	_, offset := at.In(zone).Zone()
	return time.Duration(offset) * time.Second
}

// gap is a local time that does not exist, and when the clock jumps over it.
type gap struct{ wall, until time.Time }

// onDay finds the first fire of a date after a time, and the local times of the date that do not exist.
func (c *cron) onDay(date, after time.Time, zone *time.Location) (*Fire, []gap) {
	if !changes(date, zone) {
		offset := offsetAt(date, zone)
		minute, ok := c.minuteAfter(after.Add(offset).Sub(date))
		if !ok {
			return nil, nil
		}
		return &Fire{At: date.Add(time.Duration(minute)*time.Minute - offset).In(zone)}, nil
	}
	before, later := offsetAt(date.Add(-15*time.Hour), zone), offsetAt(date.Add(39*time.Hour), zone)
	seen := after.Add(min(before, later)) // local times up to here are over, whichever offset they have
	end := date.Add(Day)
	var best *Fire
	var gaps []gap
	minute, ok := c.minuteAfter(seen.Sub(date))
	for ; ok; minute, ok = c.minuteAfter(time.Duration(minute) * time.Minute) {
		wall := date.Add(time.Duration(minute) * time.Minute)
		if wall.After(end) {
			break
		}
		first, exists := firstInstant(wall, zone)
		if !exists {
			if n := len(gaps); n > 0 && wall.Before(wallOf(gaps[n-1].until, zone)) {
				gaps = append(gaps, gap{wall, gaps[n-1].until}) // the same jump
			} else {
				gaps = append(gaps, gap{wall, gapEnd(wall, zone)})
			}
			continue
		}
		best = earlier(best, Fire{At: first}, after)
		if second, twice := secondInstant(first, wall, zone); twice && c.everyHour() {
			best = earlier(best, Fire{At: second, Repeated: true}, after)
		}
		if best != nil { // only what the clock, set back, shows again can still be earlier
			end = wallOf(best.At, zone).Add((later - before).Abs())
		}
	}
	return best, gaps
}

func earlier(best *Fire, f Fire, after time.Time) *Fire {
	if f.At.After(after) && (best == nil || f.At.Before(best.At)) {
		return &f
	}
	return best
}

// minuteAfter is the first minute of a day that is named and lies strictly after a time of day.
func (c *cron) minuteAfter(passed time.Duration) (int, bool) {
	from := 0
	if passed >= 0 {
		from = int(passed/time.Minute) + 1
	}
	hour, minute := from/60, from%60
	for ; hour < 24; hour, minute = hour+1, 0 {
		if c.hours&(1<<hour) == 0 {
			continue
		}
		if rest := c.minutes >> minute << minute; rest != 0 {
			return hour*60 + bits.TrailingZeros64(rest), true
		}
	}
	return 0, false
}

func (c *cron) minutesOfDay() []int {
	var out []int
	for hour := range 24 {
		for minute := range 60 {
			if c.hours&(1<<hour) != 0 && c.minutes&(1<<minute) != 0 {
				out = append(out, hour*60+minute)
			}
		}
	}
	return out
}

func (c *cron) interval() (time.Duration, bool) {
	minutes := c.minutesOfDay()
	least := time.Duration(0)
	note := func(d time.Duration) {
		if least == 0 || d < least {
			least = d
		}
	}
	for i := 1; i < len(minutes); i++ {
		note(time.Duration(minutes[i]-minutes[i-1]) * time.Minute)
	}
	if days, ok := c.daysApart(); ok {
		note(time.Duration(days)*Day - time.Duration(minutes[len(minutes)-1]-minutes[0])*time.Minute)
	}
	return least, least > 0
}

// daysApart is the least distance of two matching dates; dates repeat after 28 years at most, two of which are looked through
// where years are named.
func (c *cron) daysApart() (int, bool) {
	start := time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC)
	if c.years == nil {
		start = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	last, ok := c.nextDate(start)
	end := last.AddDate(28, 0, 0)
	if c.years != nil {
		end = last.AddDate(lastYear-firstYear, 0, 0)
	}
	least := 0
	for ok && least != 1 {
		next, more := c.nextDate(last.AddDate(0, 0, 1))
		if !more || next.After(end) {
			break
		}
		if days := int(next.Sub(last) / Day); least == 0 || days < least {
			least = days
		}
		last = next
	}
	return least, least > 0
}

// String spells the fields.
func (c *cron) String() string { return strings.Join(slices.Clone(c.fields[:]), " ") }
