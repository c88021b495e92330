package worker

import (
	"strconv"
	"strings"
	"time"
)

// httpDates are the forms of a date in HTTP; the first is the one in use.
var httpDates = []string{"Mon, 02 Jan 2006 15:04:05 GMT", "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC}

// longestRetryAfter bounds a provider's word, so that a wrong one does not put
// work off for ever.
const longestRetryAfter = 24 * time.Hour

// RetryAfter reads the value of a Retry-After header, seconds or an HTTP date,
// as the time before which not to try again: at most a day from now. It is zero
// when the header is empty, cannot be read, or lies in the past.
func RetryAfter(header string, now time.Time) time.Time {
	header = strings.TrimSpace(header)
	var at time.Time
	if seconds, err := strconv.ParseUint(header, 10, 63); err == nil {
		at = now.Add(time.Duration(min(seconds, uint64(longestRetryAfter/time.Second))) * time.Second)
	}
	for _, form := range httpDates {
		if date, err := time.Parse(form, header); err == nil {
			at = date
			break
		}
	}
	if !at.After(now) {
		return time.Time{}
	}
	if latest := now.Add(longestRetryAfter); at.After(latest) {
		return latest
	}
	return at
}
