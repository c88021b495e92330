// Package papersearch is the worker paper-search: it searches the index of a
// paper archive.
package papersearch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/folder"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Query string `json:"query"`
	// AsOf is the last day that counts, Days how many count before it.
	AsOf string `json:"as_of"`
	Days int    `json:"days"`
}

// Paper is a paper as the index has it.
type Paper struct {
	ID        string   `json:"id"`
	Title     string   `json:"title"`
	Authors   []string `json:"authors"`
	Published string   `json:"published"`
	URL       string   `json:"url"`
}

// Output is what was found, by id: the fact papers/last (schemas/output.json).
type Output struct {
	Query  string  `json:"query"`
	AsOf   string  `json:"as_of"`
	Papers []Paper `json:"papers"`
	// Read and Unusable count the records of the index.
	Read     int `json:"read"`
	Unusable int `json:"unusable"`
}

// Worker is paper-search.
var Worker = worker.New("paper-search", 1, search)

// The connection that is searched and the index in it.
const (
	Connection = "papers"
	index      = "index.jsonl"
)

// record is a line of the index.
type record struct {
	Paper
	Abstract string `json:"abstract"`
}

func search(_ context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	archive, err := folder.Of(t.Connection(Connection))
	if err != nil {
		return res, err
	}
	last, err := time.Parse(time.DateOnly, t.Input.AsOf)
	if err != nil {
		return res, worker.MissingInput("as_of: %w", err)
	}
	query := words(t.Input.Query)
	if len(query) == 0 {
		return res, worker.MissingInput("the query %q has no words", t.Input.Query)
	}
	from := last.AddDate(0, 0, -t.Input.Days)
	out := Output{Query: t.Input.Query, AsOf: t.Input.AsOf, Papers: []Paper{}}
	seen := map[string]bool{}
	err = folder.Lines(archive, index, func(_ int, r record) {
		out.Read++
		published, undated := time.Parse(time.DateOnly, r.Published)
		switch {
		case r.ID == "" || r.Title == "" || r.URL == "" || undated != nil || seen[r.ID]:
			out.Unusable++
		case published.Before(from) || published.After(last) || !has(words(r.Title+" "+r.Abstract), query):
			seen[r.ID] = true
		default:
			seen[r.ID] = true
			out.Papers = append(out.Papers, r.Paper)
		}
	}, func(int, string) { out.Read, out.Unusable = out.Read+1, out.Unusable+1 })
	if err != nil { // without its index, the archive cannot be searched now
		return res, worker.Transient("the search is down: %w", err)
	}
	slices.SortFunc(out.Papers, func(a, b Paper) int { return cmp.Compare(a.ID, b.ID) })
	res.Output, res.Confidence = out, worker.High
	res.Reason = fmt.Sprintf("%d of %d records are new and have each word of the query.", len(out.Papers), out.Read)
	return res, nil
}

// has tells whether a text has each word, also as a plural.
func has(text, query []string) bool {
	for _, word := range query {
		if !slices.Contains(text, word) {
			return false
		}
	}
	return true
}

func words(text string) []string {
	out := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i := range out {
		out[i] = strings.TrimSuffix(out[i], "s")
	}
	return out
}
