package store

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Span is a checked Query as an adapter carries it out.
type Span struct {
	// From is inclusive, To exclusive; empty: unbounded. None says that no sort
	// key can lie between them.
	From, To string
	None     bool
	Limit    int
	// After is the place after which the page begins, nil for the first page.
	After *Place
}

// Place is where an item stands in the order of a query: by its sort key there
// and, in an index, by its own key among equals.
type Place struct {
	Sort string `json:"s"`
	Key  *Key   `json:"k,omitempty"`
}

// Span checks a query and folds prefix and bounds into one range. Errors wrap ErrInvalid.
func (q Query) Span() (Span, error) {
	switch q.Index {
	case ByPart, ByList, ByDue:
	default:
		return Span{}, fmt.Errorf("%w: unknown index %q", ErrInvalid, q.Index)
	}
	if err := validateKey("partition", q.Part, "-"); err != nil {
		return Span{}, err
	}
	if q.Limit < 0 || q.Limit > MaxPage {
		return Span{}, fmt.Errorf("%w: a page has 1 to %d items, not %d", ErrInvalid, MaxPage, q.Limit)
	}
	for _, bound := range []string{q.Prefix, q.From, q.To} {
		if len(bound) > maxKey || !validText(bound) {
			return Span{}, fmt.Errorf("%w: bound %q of a query", ErrInvalid, bound)
		}
	}
	span := Span{From: max(q.Prefix, q.From), To: q.To, Limit: q.Limit}
	if span.Limit == 0 {
		span.Limit = defaultPage
	}
	if end := prefixEnd(q.Prefix); end != "" && (span.To == "" || end < span.To) {
		span.To = end
	}
	span.None = span.To != "" && span.From >= span.To
	var err error
	span.After, err = q.place()
	return span, err
}

// prefixEnd is the smallest text above everything with the prefix, by code
// point, so that it is UTF-8 again; empty if there is none.
func prefixEnd(prefix string) string {
	runes := []rune(prefix)
	for i := len(runes) - 1; i >= 0; i-- {
		if runes[i] == utf8.MaxRune {
			continue
		}
		runes[i]++
		if runes[i] == 0xD800 {
			runes[i] = 0xE000
		}
		return string(runes[:i+1])
	}
	return ""
}

func (q Query) place() (*Place, error) {
	if q.After == "" {
		return nil, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(q.After)
	if err != nil {
		return nil, fmt.Errorf("%w: place to go on from: %w", ErrInvalid, err)
	}
	var place Place
	if err := json.Unmarshal(text, &place); err != nil {
		return nil, fmt.Errorf("%w: place to go on from: %w", ErrInvalid, err)
	}
	if (place.Key == nil) != (q.Index == ByPart) || place.Sort == "" {
		return nil, fmt.Errorf("%w: place to go on from belongs to another query", ErrInvalid)
	}
	return &place, nil
}

// NextAfter gives the Next of a page of q that ends with an item, from the
// place at which it was read.
func (q Query) NextAfter(sort string, key Key) string {
	place := Place{Sort: sort}
	if q.Index != ByPart {
		place.Key = &key
	}
	text, err := json.Marshal(place)
	if err != nil {
		return "" // two strings always encode
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// PlaceIn is where an item stands in an index; nil: it is not in it.
func (item *Item) PlaceIn(index Index) *IndexKey {
	switch index {
	case ByList:
		return item.List
	case ByDue:
		return item.Due
	default:
		return &IndexKey{Part: item.Part, Sort: item.Sort}
	}
}

// Filling is a page in the making, of items that an adapter gives in the order
// of the query.
type Filling struct {
	Page
	query Query
	limit int
	bytes int
}

// Fill begins a page of a query.
func (q Query) Fill(span Span) *Filling { return &Filling{query: q, limit: span.Limit} }

// Add takes one more item. false: the page was full, and what follows is on the next one.
func (f *Filling) Add(item *Item) bool {
	if len(f.Items) == f.limit || f.bytes > PageBytes {
		last := &f.Items[len(f.Items)-1]
		f.Next = f.query.NextAfter(last.PlaceIn(f.query.Index).Sort, last.Key)
		return false
	}
	f.bytes += len(item.Body)
	f.Items = append(f.Items, *item)
	return true
}
