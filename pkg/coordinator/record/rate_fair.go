package record

import "time"

// Standing is a loop among those that share a provider key.
type Standing struct {
	// ServedMs is when it took its last turn, WaitsMs until when it counts as
	// waiting for one; Unix milliseconds.
	ServedMs int64 `json:"served,omitempty"`
	WaitsMs  int64 `json:"waits,omitempty"`
}

// standingKept is how long a loop that neither waits nor takes turns is remembered.
const standingKept = 10 * time.Minute

// Before counts the other loops that wait for a turn and had their last one
// before this loop's: that many turns are theirs.
func (r *Rate) Before(loop string, now time.Time) int {
	mine, n := r.Loops[loop], 0
	for name, other := range r.Loops {
		if name != loop && other.WaitsMs > now.UnixMilli() && other.ServedMs < mine.ServedMs {
			n++
		}
	}
	return n
}

// Waits notes that a loop waits for a turn until a time; false: that is known.
func (r *Rate) Waits(loop string, now, until, kept time.Time) bool {
	at := r.Loops[loop]
	if at.WaitsMs > until.UnixMilli() {
		return false
	}
	at.WaitsMs = kept.UnixMilli()
	r.stand(loop, now, at)
	return true
}

// Served notes that a loop has taken a turn.
func (r *Rate) Served(loop string, now time.Time) {
	r.stand(loop, now, Standing{ServedMs: now.UnixMilli()})
}

func (r *Rate) stand(loop string, now time.Time, at Standing) {
	oldest := now.Add(-standingKept).UnixMilli()
	loops := map[string]Standing{loop: at}
	for name, other := range r.Loops {
		if name != loop && max(other.ServedMs, other.WaitsMs) > oldest {
			loops[name] = other
		}
	}
	r.Loops = loops
}
