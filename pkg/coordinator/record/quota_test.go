package record

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// In no period of any length of days lie more uses than the quota allows (R73).
func TestQuotaHoldsInEveryPeriod(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 4).Draw(t, "count")
		per := time.Duration(rapid.IntRange(1, 50).Draw(t, "per")) * time.Hour
		q := &Quota{}
		var used []time.Time
		now := time.Unix(0, 0)
		for range rapid.IntRange(1, 40).Draw(t, "tries") {
			now = now.Add(time.Duration(rapid.IntRange(0, 30).Draw(t, "wait")) * time.Hour)
			free, from := q.Take(now.String()+time.Duration(len(used)).String(), now, count, per)
			if free {
				used = append(used, now)
				continue
			}
			if !from.After(now) {
				t.Fatalf("refused at %s, possible from %s", now, from)
			}
		}
		for i := count; i < len(used); i++ {
			if used[i].Sub(used[i-count]) < per {
				t.Fatalf("%d uses within %s", count+1, per)
			}
		}
	})
}

// Steps of an item sort below their block, in the order of the items.
func TestAddressesSortByItem(t *testing.T) {
	t.Parallel()
	block := Address("follow_up")
	a, b := StepKey("r", block.Item(9).Join("send")), StepKey("r", block.Item(10).Join("draft"))
	if a.Sort >= b.Sort || StepKey("r", block).Sort >= a.Sort {
		t.Errorf("%s, %s", a.Sort, b.Sort)
	}
}
