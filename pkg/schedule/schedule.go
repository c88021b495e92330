package schedule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ErrExpression is the sentinel of every error of Parse.
var ErrExpression = errors.New("not a schedule expression")

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrExpression, fmt.Sprintf(format, args...))
}

// Schedule is a parsed EventBridge expression in a zone. It is immutable; the zero value never fires.
type Schedule struct {
	text string
	zone *time.Location
	cron *cron
	rate time.Duration
	at   time.Time // wall time, as if in UTC
}

// Fire is one time at which a schedule fires.
type Fire struct {
	At time.Time // in the schedule's zone
	// Skipped are the local times since the last fire at which the schedule would have fired, had a clock change not left
	// them out; wall times, given as if in UTC.
	Skipped []time.Time
	// Repeated says that the zone's clock shows this local time twice and this is its second pass. Only schedules that name
	// every hour fire in both; others fire in the first.
	Repeated bool
}

// Parse reads cron(minutes hours day-of-month month day-of-week year), rate(value unit) or at(yyyy-mm-ddThh:mm:ss) exactly as
// EventBridge Scheduler does, in the zone (nil is UTC). rate does not depend on the zone. An expression that can never fire
// is an error; one whose years are over is not. Errors wrap ErrExpression.
func Parse(expression string, zone *time.Location) (Schedule, error) {
	if zone == nil {
		zone = time.UTC
	}
	s := Schedule{zone: zone, text: strings.TrimSpace(expression)}
	kind, rest, found := strings.Cut(s.text, "(")
	body, closed := strings.CutSuffix(rest, ")")
	if !found || !closed {
		return Schedule{}, bad("%q; write cron(0 7 ? * MON-FRI *), rate(30 minutes) or at(2026-11-30T07:00:00)", expression)
	}
	var err error
	switch kind {
	case "cron":
		s.cron, err = parseCron(body)
	case "rate":
		s.rate, err = parseRate(body)
	case "at":
		if s.at, err = time.Parse("2006-01-02T15:04:05", body); err != nil {
			err = bad("at(%s); write at(yyyy-mm-ddThh:mm:ss)", body)
		}
	default:
		err = bad("%q; it must be cron(…), rate(…) or at(…)", kind)
	}
	if err != nil {
		return Schedule{}, err
	}
	return s, nil
}

func parseRate(body string) (time.Duration, error) {
	number, unit, found := strings.Cut(body, " ")
	n, err := strconv.ParseInt(number, 10, 32)
	if !found || err != nil || n < 1 || number[0] == '+' {
		return 0, bad("rate(%s); write a whole number and a unit, such as rate(30 minutes)", body)
	}
	size, known := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": Day}[strings.TrimSuffix(unit, "s")]
	plural := strings.HasSuffix(unit, "s")
	switch {
	case !known:
		return 0, bad("rate(%s); the unit must be minutes, hours or days", body)
	case n == 1 && plural:
		return 0, bad("rate(%s); for 1 write the unit without s: rate(1 %s)", body, strings.TrimSuffix(unit, "s"))
	case n > 1 && !plural:
		return 0, bad("rate(%s); for more than 1 write the unit with s: rate(%d %ss)", body, n, unit)
	}
	return time.Duration(n) * size, nil
}

// String is the expression.
func (s Schedule) String() string { return s.text }

// Zone is where its local times are.
func (s Schedule) Zone() *time.Location { return s.zone }

// Next is the first fire strictly after a time; false when there is none any more (Skipped may still say why). It depends on
// nothing else. A rate fires at the multiples of its length since 1970-01-01 UTC, so that restarts do not move it
// (EventBridge counts from the schedule's start date).
func (s Schedule) Next(after time.Time) (Fire, bool) {
	switch {
	case s.cron != nil:
		return s.cron.next(after, s.zone)
	case s.rate > 0:
		period := int64(s.rate / time.Second)
		at := (floorDiv(after.Unix(), period) + 1) * period
		return Fire{At: time.Unix(at, 0).In(s.zone)}, true
	case s.at.IsZero():
		return Fire{}, false
	}
	at, exists := firstInstant(s.at, s.zone)
	if !exists {
		if gapEnd(s.at, s.zone).After(after) {
			return Fire{Skipped: []time.Time{s.at}}, false
		}
		return Fire{}, false
	}
	return Fire{At: at}, at.After(after)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// Interval is the least distance between two fires that the expression allows, clock changes left aside; false when it fires
// once at most.
func (s Schedule) Interval() (time.Duration, bool) {
	switch {
	case s.cron != nil:
		return s.cron.interval()
	case s.rate > 0:
		return s.rate, true
	}
	return 0, false
}
