package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

var listTests = map[string]func(*testing.T, bench){
	"list/pages in all indexes and directions": testPaging,
	"list/prefix and range":                    testRanges,
	"list/entries follow the item":             testIndexEntries,
	"list/items with equal sort keys":          testTies,
	"list/large bodies":                        testLargePages,
	"list/queries that make no sense":          testBadQueries,
	"list/pages go on after changes":           testPagingChanges,
	"list/a scan walks through everything":     testScan,
}

// all follows the pages of a query to the end, with a bound on their size.
func (b bench) all(t *testing.T, q store.Query) (items []store.Item, pages int) {
	t.Helper()
	for {
		page, err := b.Store.List(t.Context(), q)
		if err != nil {
			t.Fatalf("listing %+v: %v", q, err)
		}
		if q.Limit > 0 && len(page.Items) > q.Limit {
			t.Fatalf("a page of %d holds %d", q.Limit, len(page.Items))
		}
		items, pages = append(items, page.Items...), pages+1
		if page.Next == "" {
			return items, pages
		}
		q.After = page.Next
	}
}

// sorts demands the sort keys of a query, in order; an index that lags has time
// to catch up.
func (b bench) sorts(t *testing.T, q store.Query, want ...string) {
	t.Helper()
	var got []string
	for range b.patience(q) {
		got = b.listed(t, q)
		if slices.Equal(got, want) {
			return
		}
	}
	t.Fatalf("%+v lists %q, want %q", q, got, want)
}

// each demands the sort keys of a query in any order; want is sorted.
func (b bench) each(t *testing.T, q store.Query, want []string) {
	t.Helper()
	var got []string
	for range b.patience(q) {
		got = b.listed(t, q)
		slices.Sort(got)
		if slices.Equal(got, want) {
			return
		}
	}
	t.Fatalf("%+v lists %q, want each of %q once", q, got, want)
}

func (b bench) patience(q store.Query) int {
	if q.Index != store.ByPart && b.Features.LaggingIndexes {
		return 1000
	}
	return 1
}

func (b bench) listed(t *testing.T, q store.Query) []string {
	t.Helper()
	items, _ := b.all(t, q)
	sorts := make([]string, len(items))
	for i, item := range items {
		sorts[i] = item.Sort
	}
	return sorts
}

func testPaging(t *testing.T, b bench) {
	const n = 23
	var names []string
	for i := range n {
		name := fmt.Sprintf("%03d", i)
		item := b.item("P", name, nil)
		item.List = &store.IndexKey{Part: b.part("LIST"), Sort: "l" + name}
		item.Due = &store.IndexKey{Part: b.part("DUE"), Sort: "d" + name}
		b.write(t, store.Create(item))
		b.write(t, store.Create(b.item("Q", name, nil))) // a neighbour that never shows
		names = append(names, name)
	}
	backwards := slices.Clone(names)
	slices.Reverse(backwards)
	for _, q := range []store.Query{
		{Part: b.part("P")}, {Index: store.ByList, Part: b.part("LIST")}, {Index: store.ByDue, Part: b.part("DUE")},
	} {
		for _, limit := range []int{1, 7, n - 1, n, n + 1, 0, store.MaxPage} {
			q.Limit = limit
			q.Descending = false
			b.sorts(t, q, names...)
			q.Descending = true
			b.sorts(t, q, backwards...)
		}
		q.Limit = n
		if _, pages := b.all(t, q); pages != 1 {
			t.Fatalf("%d items on pages of %d make %d pages", n, n, pages)
		}
	}
	if page, err := b.Store.List(t.Context(), store.Query{Part: b.part("none")}); err != nil || len(page.Items) != 0 || page.Next != "" {
		t.Fatalf("an empty partition lists %+v, %v", page, err)
	}
}

func testRanges(t *testing.T, b bench) {
	for _, name := range []string{"RUN", "STEP a#1", "STEP a#2", "STEP b#1", "STEP ä", "STEP\U0010FFFF", "STEQ", "a", "日"} {
		item := b.item("P", name, nil)
		item.List = &store.IndexKey{Part: b.part("LIST"), Sort: name}
		b.write(t, store.Create(item))
	}
	for _, base := range []store.Query{{Part: b.part("P")}, {Index: store.ByList, Part: b.part("LIST")}} {
		in := func(change func(*store.Query)) store.Query {
			q := base
			change(&q)
			return q
		}
		b.sorts(t, in(func(q *store.Query) { q.Prefix = "STEP " }), "STEP a#1", "STEP a#2", "STEP b#1", "STEP ä")
		b.sorts(t, in(func(q *store.Query) { q.Prefix = "STEP" }), "STEP a#1", "STEP a#2", "STEP b#1", "STEP ä", "STEP\U0010FFFF")
		b.sorts(t, in(func(q *store.Query) { q.Prefix = "STEP\U0010FFFF" }), "STEP\U0010FFFF")
		b.sorts(t, in(func(q *store.Query) { q.Prefix = "none" }))
		b.sorts(t, in(func(q *store.Query) { q.From = "STEQ" }), "STEQ", "a", "日")
		b.sorts(t, in(func(q *store.Query) { q.To = "STEP a#2" }), "RUN", "STEP a#1")
		b.sorts(t, in(func(q *store.Query) { q.From, q.To = "STEP a#1", "STEP b#1" }), "STEP a#1", "STEP a#2")
		b.sorts(t, in(func(q *store.Query) { q.From, q.To, q.Descending = "STEP a#1", "STEP b#1", true }), "STEP a#2", "STEP a#1")
		b.sorts(t, in(func(q *store.Query) { q.Prefix, q.From, q.Limit = "STEP ", "STEP a#2", 1 }), "STEP a#2", "STEP b#1", "STEP ä")
		b.sorts(t, in(func(q *store.Query) { q.Prefix, q.To, q.Descending, q.Limit = "STEP ", "STEP b#1", true, 1 }), "STEP a#2", "STEP a#1")
		b.sorts(t, in(func(q *store.Query) { q.From, q.To = "b", "a" }))
		b.sorts(t, in(func(q *store.Query) { q.From, q.To = "a", "a" }))
		b.sorts(t, in(func(q *store.Query) { q.Prefix, q.From = "RUN", "S" }))
	}
}

func testIndexEntries(t *testing.T, b bench) {
	open, closed, due := b.part("OPEN"), b.part("CLOSED"), b.part("DUE")
	item := b.item("P", "1", map[string]int64{"n": 0})
	item.List, item.Due = &store.IndexKey{Part: open, Sort: "1"}, &store.IndexKey{Part: due, Sort: "5"}
	b.write(t, store.Create(item))
	lists := func(inOpen, inClosed, inDue int) {
		t.Helper()
		for part, n := range map[string]int{open: inOpen, closed: inClosed} {
			b.sorts(t, store.Query{Index: store.ByList, Part: part}, slices.Repeat([]string{"1"}, n)...)
		}
		b.sorts(t, store.Query{Index: store.ByDue, Part: due}, slices.Repeat([]string{"1"}, inDue)...)
	}
	lists(1, 0, 1)
	b.write(t, store.Add(item.Key, map[string]int64{"n": 1}))
	lists(1, 0, 1)
	if items, _ := b.all(t, store.Query{Index: store.ByDue, Part: due}); items[0].Due == nil || items[0].Due.Sort != "5" {
		t.Fatalf("the item in the index is %+v", items[0])
	}
	item.List, item.Due = &store.IndexKey{Part: closed, Sort: "1"}, nil
	b.write(t, store.Replace(at(item, 2)))
	lists(0, 1, 0)
	item.List.Sort = "2"
	b.write(t, store.Replace(at(item, 3)))
	lists(0, 1, 0)
	b.sorts(t, store.Query{Index: store.ByList, Part: closed, From: "2"}, "1")
	b.write(t, store.Remove(item.Key, 4))
	lists(0, 0, 0)
}

func testTies(t *testing.T, b bench) {
	var want []string
	for i := range 9 {
		item := b.item("P"+string(rune('a'+i%3)), fmt.Sprint(i), nil)
		item.Due = &store.IndexKey{Part: b.part("DUE"), Sort: "same"}
		b.write(t, store.Create(item))
		want = append(want, item.Sort)
	}
	for _, descending := range []bool{false, true} {
		for _, limit := range []int{1, 2, 4, 9} {
			q := store.Query{Index: store.ByDue, Part: b.part("DUE"), Limit: limit, Descending: descending}
			b.each(t, q, want)
		}
	}
}

func testLargePages(t *testing.T, b bench) {
	body := []byte(strings.Repeat("x", 350_000))
	var want []string
	for i := range 20 {
		item := b.item("P", fmt.Sprintf("%02d", i), nil)
		item.Body = body
		b.write(t, store.Create(item))
		want = append(want, item.Sort)
	}
	b.sorts(t, store.Query{Part: b.part("P")}, want...)
	page, err := b.Store.List(t.Context(), store.Query{Part: b.part("P")})
	if err != nil || page.Next == "" || len(page.Items) == 0 {
		t.Fatalf("7 MB on one page of %d: %v", len(page.Items), err)
	}
}

func testBadQueries(t *testing.T, b bench) {
	part := b.part("P")
	b.write(t, store.Create(b.item("P", "1", nil)), store.Create(b.item("P", "2", nil)))
	page, err := b.Store.List(t.Context(), store.Query{Part: part, Limit: 1})
	if err != nil || page.Next == "" {
		t.Fatalf("the first page: %+v, %v", page, err)
	}
	for _, q := range []store.Query{
		{}, {Part: part, Limit: -1}, {Part: part, Limit: store.MaxPage + 1}, {Part: part, Index: "other"},
		{Part: part, After: "?"}, {Part: part, After: "bm9uZQ"}, {Part: part, Index: store.ByList, After: page.Next},
		{Part: part, Prefix: strings.Repeat("x", 1025)}, {Part: part, From: "\xff"}, {Part: "a\x00b"},
	} {
		if _, err := b.Store.List(t.Context(), q); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid", q, err)
		}
	}
}

// testPagingChanges: what stands from the first page to the last is listed
// exactly once, whatever else comes and goes.
func testPagingChanges(t *testing.T, b bench) {
	for i := range 6 {
		b.write(t, store.Create(b.item("P", fmt.Sprintf("%02d", 2*i), nil)))
	}
	q := store.Query{Part: b.part("P"), Limit: 2}
	first, err := b.Store.List(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	b.write(t, store.Remove(first.Items[1].Key, 0), store.Create(b.item("P", "01", nil)), store.Create(b.item("P", "05", nil)))
	q.After = first.Next
	b.sorts(t, q, "04", "05", "06", "08", "10")
}

func testScan(t *testing.T, b bench) {
	scanner := b.Scan
	if scanner == nil {
		var ok bool
		if scanner, ok = b.Store.(store.Scanner); !ok {
			t.Skip("this store does not scan")
		}
	}
	var want []store.Key
	for _, part := range []string{"A", "B", "ä"} {
		for _, sort := range []string{"1", "2", "日"} {
			item := b.item(part, sort, map[string]int64{"n": 1})
			b.write(t, store.Create(item))
			want = append(want, item.Key)
		}
	}
	for _, limit := range []int{1, 2, 9, 1000} {
		var got []store.Key
		for after := (store.Key{}); ; {
			items, err := scanner.Scan(t.Context(), after, limit)
			if err != nil || len(items) > limit {
				t.Fatalf("scanning: %d items, %v", len(items), err)
			}
			if len(items) == 0 {
				break
			}
			for _, item := range items {
				if after = item.Key; strings.HasSuffix(item.Part, b.space) {
					got = append(got, item.Key)
				}
			}
		}
		for i, key := range got { // one partition after the other, each in its order
			if i%3 > 0 && (key.Part != got[i-1].Part || key.Sort <= got[i-1].Sort) {
				t.Fatalf("scanned %v", got)
			}
		}
		slices.SortFunc(got, func(a, b store.Key) int { return cmp.Or(cmp.Compare(a.Part, b.Part), cmp.Compare(a.Sort, b.Sort)) })
		if !slices.Equal(got, want) {
			t.Fatalf("scanned %v, want %v", got, want)
		}
	}
	for _, limit := range []int{0, 1001} {
		if _, err := scanner.Scan(t.Context(), store.Key{}, limit); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("scanning %d: %v", limit, err)
		}
	}
}
