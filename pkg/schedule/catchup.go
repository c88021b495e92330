package schedule

import (
	"fmt"
	"strconv"
	"time"
)

// CatchUp says how many missed fires a loop makes up for: 0 is none, 1 the last, N the last N.
type CatchUp int

// MaxCatchUp bounds what a loop may make up for.
const MaxCatchUp = 100

// maxLooked bounds how many missed fires are looked at one by one.
const maxLooked = 100_000

// ParseCatchUp reads "none", "last" or a number from 0 to MaxCatchUp.
func ParseCatchUp(text string) (CatchUp, error) {
	switch text {
	case "none":
		return 0, nil
	case "last":
		return 1, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n > MaxCatchUp {
		return 0, fmt.Errorf("catch_up %q; it must be none, last or a number up to %d", text, MaxCatchUp)
	}
	return CatchUp(n), nil
}

// Backlog is what a schedule missed.
type Backlog struct {
	Due     []Fire // to be made up for, oldest first; at most as many as the policy says
	Dropped int    // missed fires that are not made up for
	More    bool   // there were even more than Dropped; they were not counted
}

// Missed computes what to do about the fires after last and up to now (inclusive). It depends on its arguments alone.
// The fires' skipped local times are kept where the fire is due.
func (s Schedule) Missed(last, now time.Time, policy CatchUp) Backlog {
	var b Backlog
	keep := min(int(policy), MaxCatchUp)
	for at := last; ; {
		f, ok := s.Next(at)
		if !ok || f.At.After(now) {
			return b
		}
		if len(b.Due)+b.Dropped >= maxLooked {
			return s.recent(b, now, keep)
		}
		b.Due = append(b.Due, f)
		if len(b.Due) > keep {
			b.Due = b.Due[1:]
			b.Dropped++
		}
		at = f.At
	}
}

// recent replaces what is due by the last fires before now, for a backlog too long to be counted.
func (s Schedule) recent(b Backlog, now time.Time, keep int) Backlog {
	least, ok := s.Interval()
	if !ok {
		return b
	}
	b.Dropped, b.More = b.Dropped+len(b.Due), true
	for back := least * time.Duration(keep+2); ; back *= 2 {
		b.Due = nil
		for at := now.Add(-back); ; {
			f, ok := s.Next(at)
			if !ok || f.At.After(now) {
				break
			}
			b.Due = append(b.Due, f)
			at = f.At
		}
		if len(b.Due) >= keep {
			b.Due = b.Due[len(b.Due)-keep:]
			return b
		}
	}
}
