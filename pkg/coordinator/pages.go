package coordinator

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Page is one page of a list. Next is the After of the following page, empty on
// the last one. A page may be shorter than asked for; only Next tells whether
// more follows. What changes between two pages may be missed or be in neither,
// but nothing is listed twice for having moved from open to closed.
type Page[T any] struct {
	Items []T
	Next  string
}

const (
	// mostListed is the largest page, usualPage one of which nothing is said.
	mostListed = 1000
	usualPage  = 100
)

// listing is one list over several partitions of the list index, in the order
// of their sort keys.
type listing struct {
	parts      []string
	prefix     string
	descending bool
	// shared: one sort key may stand in several partitions, for different items.
	shared bool
	after  string
	limit  int
}

// place is where a page ends.
type place struct {
	Sort string `json:"s"`
	Part string `json:"p,omitempty"`
}

func (p place) String() string {
	text, err := json.Marshal(p)
	if err != nil {
		return "" // two strings always encode
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func parsePlace(text string) (place, error) {
	var p place
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil || p.Sort == "" {
		return p, &InputError{What: "the page to go on from", Faults: []string{"is none that a list has named"}}
	}
	return p, nil
}

// stream reads one partition of a listing in bites.
type stream struct {
	part  string
	q     store.Query
	items []store.Item
	done  bool
}

// next fills the stream and answers whether it has an item.
func (s *stream) next(ctx context.Context, c *Coordinator) (bool, error) {
	for len(s.items) == 0 && !s.done {
		page, err := c.cfg.Store.List(ctx, s.q)
		if err != nil {
			return false, fmt.Errorf("listing %s: %w", s.part, err)
		}
		for _, item := range page.Items {
			if item.List != nil {
				s.items = append(s.items, item)
			}
		}
		s.q.After, s.done = page.Next, page.Next == ""
	}
	return len(s.items) > 0, nil
}

// leastBite is how many items a stream reads at once, at least.
const leastBite = 10

func (l listing) streams(from place) []*stream {
	out := make([]*stream, 0, len(l.parts))
	bite := min(max(2*l.limit/max(len(l.parts), 1), leastBite), mostListed, l.limit+1)
	for _, part := range l.parts {
		q := store.Query{Index: store.ByList, Part: part, Prefix: l.prefix, Descending: l.descending, Limit: bite}
		if l.descending {
			q.To = from.Sort
		} else {
			q.From = from.Sort
		}
		out = append(out, &stream{part: part, q: q})
	}
	return out
}

// past tells whether an item was on the page before or is seen a second time:
// one that moved to another partition while it was read.
func (l listing) past(from place, s *stream, item *store.Item, seen map[store.Key]bool) bool {
	if seen[item.Key] {
		return true
	}
	return !l.descending && item.List.Sort == from.Sort && (!l.shared || s.part <= from.Part)
}

// list reads a page of a listing. visit tells whether an item counts; one that
// does not leaves room for another.
func (c *Coordinator) list(ctx context.Context, l listing, visit func(*store.Item) (bool, error)) (next string, err error) {
	var from place
	if l.after != "" {
		if from, err = parsePlace(l.after); err != nil {
			return "", err
		}
	}
	streams := l.streams(from)
	seen := map[store.Key]bool{}
	for taken := 0; ; {
		s, err := l.first(ctx, c, streams)
		if err != nil || s == nil {
			return "", err
		}
		if taken == l.limit {
			return from.String(), nil
		}
		item := s.items[0]
		s.items = s.items[1:]
		if l.past(from, s, &item, seen) {
			continue
		}
		seen[item.Key] = true
		counts, err := visit(&item)
		if err != nil {
			return "", err
		}
		if counts {
			taken++
		}
		from = place{Sort: item.List.Sort}
		if l.shared {
			from.Part = s.part
		}
	}
}

// first is the stream whose item comes next; nil: none has any.
func (l listing) first(ctx context.Context, c *Coordinator, streams []*stream) (*stream, error) {
	var found []*stream
	for _, s := range streams {
		has, err := s.next(ctx, c)
		if err != nil {
			return nil, err
		}
		if has {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	return slices.MinFunc(found, func(a, b *stream) int {
		order := cmp.Compare(a.items[0].List.Sort, b.items[0].List.Sort)
		if l.descending {
			order = -order
		}
		return cmp.Or(order, cmp.Compare(a.part, b.part))
	}), nil
}

// sizeOf is a query's limit, or the usual one.
func sizeOf(limit, usual int) int {
	if limit <= 0 {
		return usual
	}
	return min(limit, mostListed)
}
