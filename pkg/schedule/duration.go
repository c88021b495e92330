package schedule

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Day is 24 hours: durations do not follow the clock changes of a zone. Year is 365 of them.
const (
	Day  = 24 * time.Hour
	Week = 7 * Day
	Year = 365 * Day
)

var durationUnits = []struct {
	letter byte
	size   time.Duration
}{{'y', Year}, {'w', Week}, {'d', Day}, {'h', time.Hour}, {'m', time.Minute}, {'s', time.Second}}

// ParseDuration reads a duration as loops write it: a whole number and one of s, m, h, d (24 hours), w or y (365 days), or
// several of them from great to small, such as "90s", "14d", "1h30m". It is more than zero and at most about 292 years.
func ParseDuration(text string) (time.Duration, error) {
	rest, total, next := text, time.Duration(0), 0
	if rest == "" {
		return 0, badDuration(text)
	}
	for rest != "" {
		digits := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		if digits <= 0 {
			return 0, badDuration(text)
		}
		n, err := strconv.ParseInt(rest[:digits], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("duration %q is too long", text)
		}
		i := next
		for i < len(durationUnits) && durationUnits[i].letter != rest[digits] {
			i++
		}
		if i == len(durationUnits) {
			return 0, badDuration(text)
		}
		if n > (math.MaxInt64-int64(total))/int64(durationUnits[i].size) {
			return 0, fmt.Errorf("duration %q is too long", text)
		}
		total += time.Duration(n) * durationUnits[i].size
		rest, next = rest[digits+1:], i+1
	}
	if total == 0 {
		return 0, fmt.Errorf("duration %q is zero; it must be at least 1s", text)
	}
	return total, nil
}

func badDuration(text string) error {
	return fmt.Errorf("%q is no duration; write a whole number with s, m, h, d, w or y, such as 90s, 15m, 4h, 14d, 2y", text)
}

// FormatDuration writes a duration as ParseDuration reads it, such as "14d" or "1h30m"; parts below a second are cut off.
// Weeks and years are written in days.
func FormatDuration(d time.Duration) string {
	if d < time.Second {
		return "0s"
	}
	var b strings.Builder
	for _, u := range durationUnits[2:] {
		if n := d / u.size; n > 0 {
			fmt.Fprintf(&b, "%d%c", n, u.letter)
			d %= u.size
		}
	}
	return b.String()
}
