package schedule

import (
	"strconv"
	"strings"
	"time"
)

// unit describes a field of a cron expression.
type unit struct {
	name    string
	low     int
	high    int
	names   []string // of the values, from low
	example string
}

var (
	monthNames  = []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}
	minuteField = unit{name: "minutes", low: 0, high: 59, example: "0, 0/15 or 0,30"}
	hourField   = unit{name: "hours", low: 0, high: 23, example: "7, 8-17 or *"}
	dateField   = unit{name: "day-of-month", low: 1, high: 31, example: "1, L, 15W or ?"}
	monthField  = unit{name: "month", low: 1, high: 12, names: monthNames, example: "*, 1/3 or JAN,APR"}
	dayField    = unit{name: "day-of-week", low: 1, high: 7, names: weekdays[:], example: "MON-FRI, 6L, 3#2 or ?"}
	yearField   = unit{name: "year", low: firstYear, high: lastYear, example: "* or 2026-2028"}
)

func parseCron(body string) (*cron, error) {
	fields := strings.Fields(strings.ToUpper(body))
	if len(fields) != 6 {
		return nil, bad("cron has %d fields; it must have six: minutes hours day-of-month month day-of-week year, such as cron(0 7 ? * MON-FRI *)", len(fields))
	}
	c := &cron{fields: [6]string(fields)}
	var err error
	if c.minutes, err = minuteField.set(fields[0]); err != nil {
		return nil, err
	}
	if c.hours, err = hourField.set(fields[1]); err != nil {
		return nil, err
	}
	if c.months, err = monthField.set(fields[3]); err != nil {
		return nil, err
	}
	if fields[5] != "*" {
		values, err := yearField.values(fields[5])
		if err != nil {
			return nil, err
		}
		c.years = make([]bool, lastYear-firstYear+1)
		for _, y := range values {
			c.years[y-firstYear] = true
		}
	}
	if (fields[2] == "?") == (fields[4] == "?") {
		return nil, bad("cron(%s): exactly one of day-of-month and day-of-week must be ?", body)
	}
	if fields[4] == "?" {
		err = c.days.parseDates(fields[2])
	} else {
		err = c.days.parseWeekdays(fields[4])
	}
	if err != nil {
		return nil, err
	}
	if _, ever := c.nextDate(time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC)); !ever {
		return nil, bad("cron(%s) never fires: there is no such date", body)
	}
	return c, nil
}

// set reads a field with values up to 63 as bits.
func (u unit) set(text string) (uint64, error) {
	values, err := u.values(text)
	if err != nil {
		return 0, err
	}
	var set uint64
	for _, v := range values {
		set |= 1 << v
	}
	return set, nil
}

// values reads a list of values, ranges and steps.
func (u unit) values(text string) ([]int, error) {
	var out []int
	for item := range strings.SplitSeq(text, ",") {
		span, step, stepped := strings.Cut(item, "/")
		low, high, err := u.span(span, item, stepped)
		if err != nil {
			return nil, err
		}
		n := 1
		if stepped {
			if n, err = number(step); err != nil || n < 1 || n > u.high-u.low+1 {
				return nil, u.wrong(item, "the step must be a number from 1 to "+strconv.Itoa(u.high-u.low+1))
			}
		}
		for v := low; v <= high; v += n {
			out = append(out, v)
		}
	}
	return out, nil
}

// span reads *, a value, or a range; a value with a step goes on to the end.
func (u unit) span(span, item string, stepped bool) (low, high int, err error) {
	if span == "*" {
		return u.low, u.high, nil
	}
	from, to, ranged := strings.Cut(span, "-")
	if low, err = u.value(from, item); err != nil {
		return 0, 0, err
	}
	switch {
	case ranged:
		if high, err = u.value(to, item); err != nil {
			return 0, 0, err
		}
		if high < low {
			return 0, 0, u.wrong(item, "the range runs backwards; list the values instead")
		}
	case stepped:
		high = u.high
	default:
		high = low
	}
	return low, high, nil
}

func (u unit) value(text, item string) (int, error) {
	for i, name := range u.names {
		if text == name {
			return u.low + i, nil
		}
	}
	n, err := number(text)
	if err != nil || n < u.low || n > u.high {
		return 0, u.wrong(item, "it takes "+strconv.Itoa(u.low)+" to "+strconv.Itoa(u.high)+", such as "+u.example)
	}
	return n, nil
}

func (u unit) wrong(item, reason string) error {
	return bad("%q in the field %s: %s", item, u.name, reason)
}

// number reads digits only: no sign.
func number(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	return int(n), err
}

func (d *dayRule) parseDates(text string) error {
	var plain []string
	for item := range strings.SplitSeq(text, ",") {
		switch {
		case item == "L":
			d.last = true
		case item == "LW":
			d.lastWorkday = true
		case strings.HasSuffix(item, "W"):
			n, err := dateField.value(strings.TrimSuffix(item, "W"), item)
			if err != nil {
				return err
			}
			d.workdays = append(d.workdays, n)
		default:
			plain = append(plain, item)
		}
	}
	if len(plain) == 0 {
		return nil
	}
	var err error
	d.dates, err = dateField.set(strings.Join(plain, ","))
	return err
}

func (d *dayRule) parseWeekdays(text string) error {
	if strings.Contains(text, "#") {
		return d.parseNth(text)
	}
	var plain []string
	for item := range strings.SplitSeq(text, ",") {
		switch {
		case item == "L":
			d.weekdays |= 1 << time.Saturday
		case strings.HasSuffix(item, "L"):
			n, err := dayField.value(strings.TrimSuffix(item, "L"), item)
			if err != nil {
				return err
			}
			d.nth = append(d.nth, nthDay{weekday: n - 1})
		default:
			plain = append(plain, item)
		}
	}
	if len(plain) == 0 {
		return nil
	}
	set, err := dayField.set(strings.Join(plain, ","))
	d.weekdays |= set >> 1 // 1 is Sunday
	return err
}

func (d *dayRule) parseNth(text string) error {
	day, nth, _ := strings.Cut(text, "#")
	if strings.ContainsAny(text, ",") {
		return dayField.wrong(text, "with # there can be only one value")
	}
	weekday, err := dayField.value(day, text)
	if err != nil {
		return err
	}
	n, err := number(nth)
	if err != nil || n < 1 || n > 5 {
		return dayField.wrong(text, "after # stands which one of the month, 1 to 5")
	}
	d.nth = []nthDay{{weekday: weekday - 1, n: n}}
	return nil
}
