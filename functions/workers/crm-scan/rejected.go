package crmscan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// rowsDecided is how many rejected rows stand among the decisions, one by one.
// The output has all of them.
const rowsDecided = 30

// decisions say of each rejected row why, and of those over rowsDecided how many they are.
func (s *scanner) decisions() []string {
	if len(s.rejected) == 0 {
		return []string{"No row was rejected."}
	}
	list := []string{fmt.Sprintf("%d of %d rows were rejected.", len(s.rejected), s.read)}
	for _, r := range s.rejected[:min(len(s.rejected), rowsDecided)] {
		list = append(list, fmt.Sprintf("Row %d was rejected: %s", r.Row, r.Reason))
	}
	if more := len(s.rejected) - rowsDecided; more > 0 {
		list = append(list, fmt.Sprintf("%d more rows were rejected; the output lists each with its reason.", more))
	}
	return list
}

// faultsNamed is how many columns at fault are named; the others are counted together.
const faultsNamed = 3

// faults counts the rejected rows by the column at fault, the most frequent
// first, each with its first row.
func (s *scanner) faults() string {
	count, first := map[string]int{}, map[string]Rejection{}
	var columns []string
	for _, r := range s.rejected {
		if count[r.Column]++; count[r.Column] == 1 {
			columns = append(columns, r.Column)
			first[r.Column] = r
		}
	}
	slices.SortStableFunc(columns, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	var texts []string
	others := len(s.rejected)
	for _, column := range columns[:min(len(columns), faultsNamed)] {
		r := first[column]
		others -= count[column]
		texts = append(texts, fmt.Sprintf("%d for %s, first row %d (%s)",
			count[column], cmp.Or(column, "the row itself"), r.Row, strings.TrimSuffix(r.Reason, ".")))
	}
	if others > 0 {
		texts = append(texts, fmt.Sprintf("%d for other reasons", others))
	}
	return strings.Join(texts, "; ") + "."
}
