package store_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// FuzzSpan: whatever a caller sends as bounds and place, a query is refused as
// invalid or becomes a range that holds exactly what has the prefix and lies
// within the bounds.
func FuzzSpan(f *testing.F) {
	f.Add("P", "STEP ", "", "", "", "STEP a#1")
	f.Add("P", "a\U0010FFFF", "a", "b", "", "a\U0010FFFFz")
	f.Add("P", "\uD7FF", "", "", "bm9uZQ", "\uE000")
	f.Add("P", "", "b", "a", store.Query{}.NextAfter("x", store.Key{}), "b")
	f.Fuzz(func(t *testing.T, part, prefix, from, to, after, sort string) {
		q := store.Query{Part: part, Prefix: prefix, From: from, To: to, After: after}
		span, err := q.Span()
		if err != nil {
			if !errors.Is(err, store.ErrInvalid) {
				t.Fatalf("%+v: %v", q, err)
			}
			return
		}
		if !utf8.ValidString(span.From) || !utf8.ValidString(span.To) {
			t.Fatalf("%+v: bounds %q, %q are not UTF-8", q, span.From, span.To)
		}
		if sort == "" || !utf8.ValidString(sort) {
			return
		}
		want := strings.HasPrefix(sort, prefix) && sort >= from && (to == "" || sort < to)
		got := !span.None && sort >= span.From && (span.To == "" || sort < span.To)
		if want != got {
			t.Fatalf("%+v: %q is in the range: %t, want %t (%q to %q)", q, sort, got, want, span.From, span.To)
		}
	})
}

// FuzzPlace: a place that a page ends with is found again by the next query.
func FuzzPlace(f *testing.F) {
	f.Add("sort", "P", "S")
	f.Fuzz(func(t *testing.T, sort, part, key string) {
		if sort == "" || !utf8.ValidString(sort) || !utf8.ValidString(part) || !utf8.ValidString(key) {
			return
		}
		for _, index := range []store.Index{store.ByPart, store.ByList} {
			q := store.Query{Index: index, Part: "P"}
			q.After = q.NextAfter(sort, store.Key{Part: part, Sort: key})
			span, err := q.Span()
			if err != nil || span.After.Sort != sort || index == store.ByList && *span.After.Key != (store.Key{Part: part, Sort: key}) {
				t.Fatalf("%q became %+v, %v", sort, span.After, err)
			}
		}
	})
}
