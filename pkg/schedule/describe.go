package schedule

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Describe says in English when the schedule fires, such as "at 07:00 Monday to Friday"; local times of its zone, which it
// does not name.
func (s Schedule) Describe() string {
	switch {
	case s.cron != nil:
		return s.cron.describe()
	case s.rate > 0:
		return "every " + lengthWords(s.rate)
	case s.at.IsZero():
		return "never"
	}
	return "once, on " + s.at.Format("2 January 2006 at 15:04:05")
}

func lengthWords(d time.Duration) string {
	for _, u := range []struct {
		size time.Duration
		name string
	}{{Day, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if n := d / u.size; d%u.size == 0 && n == 1 {
			return u.name
		} else if d%u.size == 0 && n > 1 {
			return fmt.Sprintf("%d %ss", n, u.name)
		}
	}
	return d.String()
}

func (c *cron) describe() string {
	words := []string{c.timeWords()}
	for _, w := range []string{c.dayWords(), c.monthWords(), c.yearWords()} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

func (c *cron) timeWords() string {
	minutes, hours := bitList(c.minutes), bitList(c.hours)
	if len(minutes)*len(hours) <= 6 {
		var times []string
		for _, m := range c.minutesOfDay() {
			times = append(times, clockWords(m))
		}
		return "at " + and(times)
	}
	var text string
	switch step := stepOf(minutes, 60); {
	case len(minutes) == 60:
		text = "every minute"
	case len(minutes) == 1 && len(hours) == 24 && minutes[0] == 0:
		return "every hour"
	case step > 0 && minutes[0] == 0:
		text = fmt.Sprintf("every %d minutes", step)
	case len(minutes) == 1:
		text = "at minute " + strconv.Itoa(minutes[0])
	default:
		text = "at minutes " + and(numbers(minutes))
	}
	return text + c.hourWords(hours)
}

func (c *cron) hourWords(hours []int) string {
	switch {
	case len(hours) == 24:
		return ""
	case contiguous(hours):
		last := bitList(c.minutes)
		return fmt.Sprintf(" from %s to %s", clockWords(hours[0]*60), clockWords(hours[len(hours)-1]*60+last[len(last)-1]))
	case stepOf(hours, 24) > 0 && hours[0] == 0:
		return fmt.Sprintf(" of every %s hour", ordinal(stepOf(hours, 24)))
	}
	return " of the hours " + and(numbers(hours))
}

func clockWords(minute int) string { return fmt.Sprintf("%02d:%02d", minute/60, minute%60) }

func (c *cron) dayWords() string {
	d := &c.days
	var parts []string
	if d.dates == 1<<32-2 || d.weekdays == 1<<7-1 {
		return "every day"
	}
	if d.dates != 0 {
		noun := "day"
		if dates := bitList(d.dates); len(dates) > 1 {
			noun = "days"
		}
		parts = append(parts, fmt.Sprintf("on %s %s of the month", noun, spans(bitList(d.dates), strconv.Itoa)))
	}
	if d.weekdays != 0 {
		parts = append(parts, weekdayWords(bitList(d.weekdays)))
	}
	if d.last {
		parts = append(parts, "on the last day of the month")
	}
	if d.lastWorkday {
		parts = append(parts, "on the last weekday of the month")
	}
	for _, n := range d.workdays {
		parts = append(parts, fmt.Sprintf("on the weekday nearest to day %d of the month", n))
	}
	for _, n := range d.nth {
		which := "last"
		if n.n > 0 {
			which = ordinal(n.n)
		}
		parts = append(parts, fmt.Sprintf("on the %s %s of the month", which, time.Weekday(n.weekday)))
	}
	return and(parts)
}

// weekdayWords names weekdays (0 is Sunday) from Monday on.
func weekdayWords(days []int) string {
	order := make([]int, len(days))
	for i, d := range days {
		order[i] = (d + 6) % 7
	}
	slices.Sort(order)
	return spans(order, func(d int) string { return time.Weekday((d + 1) % 7).String() })
}

func (c *cron) monthWords() string {
	if c.months == 1<<13-2 {
		return ""
	}
	return "in " + spans(bitList(c.months), func(m int) string { return time.Month(m).String() })
}

func (c *cron) yearWords() string {
	if c.years == nil {
		return ""
	}
	var years []int
	for i, named := range c.years {
		if named {
			years = append(years, firstYear+i)
		}
	}
	return "in " + spans(years, strconv.Itoa)
}

// spans lists values, three and more in a row as "a to b".
func spans(values []int, name func(int) string) string {
	var parts []string
	for i := 0; i < len(values); {
		j := i
		for j+1 < len(values) && values[j+1] == values[j]+1 {
			j++
		}
		if j-i >= 2 {
			parts = append(parts, name(values[i])+" to "+name(values[j]))
			i = j + 1
			continue
		}
		parts = append(parts, name(values[i]))
		i++
	}
	return and(parts)
}

func and(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func numbers(values []int) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = strconv.Itoa(v)
	}
	return out
}

func bitList(set uint64) []int {
	var out []int
	for ; set != 0; set &= set - 1 {
		out = append(out, bits.TrailingZeros64(set))
	}
	return out
}

func contiguous(values []int) bool { return values[len(values)-1]-values[0] == len(values)-1 }

// stepOf is the even distance of values that go round a whole, or 0.
func stepOf(values []int, whole int) int {
	if len(values) < 2 {
		return 0
	}
	step := values[1] - values[0]
	for i := 1; i < len(values); i++ {
		if values[i]-values[i-1] != step {
			return 0
		}
	}
	if values[len(values)-1]+step < whole {
		return 0
	}
	return step
}

func ordinal(n int) string {
	switch n {
	case 1:
		return "first"
	case 2:
		return "second"
	case 3:
		return "third"
	}
	return strconv.Itoa(n) + "th"
}
