package schema

import (
	"strings"
	"unicode/utf8"
)

// Nearest gives the name that the writer of the misspelt name most likely meant, or "" if none is near enough
// (about one edit in three letters, never all of them; a swap of neighbours counts as one edit, case as none).
// Of equally near names the first wins, so pass them sorted.
func Nearest(name string, names []string) string {
	best, limit := "", max(1, utf8.RuneCountInString(name)/3)+1
	for _, n := range names {
		longest := max(utf8.RuneCountInString(name), utf8.RuneCountInString(n))
		if d := edits(strings.ToLower(name), strings.ToLower(n), limit); d < limit && d < longest {
			best, limit = n, d
		}
	}
	return best
}

// edits is the optimal-string-alignment distance of two short words, or limit where it is not below it.
func edits(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) >= limit || len(y)-len(x) >= limit {
		return limit
	}
	prev2, prev, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], prev2[j-2]+1)
			}
		}
		prev2, prev, row = prev, row, prev2
	}
	return min(prev[len(y)], limit)
}
