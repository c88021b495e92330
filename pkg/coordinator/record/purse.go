package record

import (
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// The numbers of a purse: what a period's limit is, and what nobody has drawn of it.
const (
	PurseLimit = "limit"
	PurseLeft  = "left"
)

// Purse is the money of a period that several runs share: a loop's day, the
// account's month (R49). A run draws its budget at its start, and what it did
// not spend goes back at its end.
type Purse struct {
	// Name says whose money and of which period.
	Name string `json:"name"`

	Limit int64 `json:"-"`
	Left  int64 `json:"-"`
}

// purseKept is how long a purse is kept after its first draw.
const purseKept = 400 * 24 * time.Hour

// PurseKey addresses a purse by its name.
func PurseKey(name string) store.Key { return store.Key{Part: "PURSE#" + name, Sort: "PURSE"} }

// DecodePurse reads a purse; nil gives nil.
func DecodePurse(item *store.Item) (*Purse, error) {
	if item == nil {
		return nil, nil
	}
	p := &Purse{Limit: item.Numbers[PurseLimit], Left: item.Numbers[PurseLeft]}
	return p, decode(item, p)
}

// NewPurse creates a purse out of which the first amount is drawn.
func NewPurse(name string, limit, amount int64, now time.Time) store.Op {
	return store.Create(store.Item{
		Key: PurseKey(name), Body: encode(&Purse{Name: name}), Expires: now.Add(purseKept).Unix(),
		Numbers: map[string]int64{PurseLimit: limit, PurseLeft: limit - amount},
	})
}

// Draw takes an amount, if it is there; a limit that was declared anew since
// holds from then on.
func (p *Purse) Draw(limit, amount int64) store.Op {
	deltas := map[string]int64{PurseLeft: limit - p.Limit - amount}
	if limit != p.Limit {
		deltas[PurseLimit] = limit - p.Limit
	}
	return store.Add(PurseKey(p.Name), deltas, store.Equal(PurseLimit, p.Limit), store.AtLeast(PurseLeft, amount-(limit-p.Limit)))
}

// Closing are the writes of a run that is closed: its record, and what it did
// not spend for the purses that it drew from. A run that spent more takes the rest from them.
func (r *Run) Closing() []store.Op {
	ops := []store.Op{r.Put()}
	for _, name := range r.Drawn {
		if left := r.Numbers[RunLeft]; left != 0 {
			ops = append(ops, store.Add(PurseKey(name), map[string]int64{PurseLeft: left}))
		}
	}
	return ops
}

// ReservedByOthers is the money reserved by other attempts than the one that runs a step.
func (r *Run) ReservedByOthers(s *Step) int64 {
	var sum int64
	for name, amount := range r.Numbers {
		if strings.HasPrefix(name, reservation) {
			sum += amount
		}
	}
	if s != nil {
		for _, amount := range r.Held(s.ReservedAs()) {
			sum -= amount
		}
	}
	return sum
}
