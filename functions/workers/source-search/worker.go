// Package sourcesearch is the worker source-search: it finds what a library of
// clippings has on a question.
package sourcesearch

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/folder"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Topic struct {
		Title    string `json:"title"`
		Question string `json:"question"`
	} `json:"topic"`
	Count int `json:"count"`
}

// Source is a clipping.
type Source struct {
	ID        string `json:"id"`
	Date      string `json:"date"`
	Publisher string `json:"publisher"`
	Title     string `json:"title"`
	Text      string `json:"text"`
	URL       string `json:"url"`
}

// Output is what was found, the best first (schemas/output.json).
type Output struct {
	Sources []Source `json:"sources"`
	// Read and Unusable count the library's records.
	Read     int `json:"read"`
	Unusable int `json:"unusable"`
}

// Worker is source-search.
var Worker = worker.New("source-search", 1, search)

// The connection that is searched and the file in it.
const (
	Connection = "library"
	file       = "clippings.jsonl"
)

// enough is how many of a question's own words a clipping must have.
const enough = 2

func search(_ context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	library, err := folder.Of(t.Connection(Connection))
	if err != nil {
		return res, err
	}
	clippings, read, err := load(library)
	if errors.Is(err, fs.ErrNotExist) {
		return res, worker.Transient("the library is not there: %w", err)
	}
	if err != nil {
		return res, err
	}
	found := rank(clippings, words(t.Input.Topic.Title+" "+t.Input.Topic.Question))
	if len(found) == 0 {
		return res, worker.MissingInput("the library's %d clippings have nothing on %q", len(clippings), t.Input.Topic.Title)
	}
	res.Output = Output{Sources: found[:min(len(found), t.Input.Count)], Read: read, Unusable: read - len(clippings)}
	res.Confidence, res.Reason = worker.High, fmt.Sprintf("%d clippings have at least %d words of the question.", len(found), enough)
	res.Decisions = []string{fmt.Sprintf("%d of %d records are unusable: damaged, repeated, without publisher or date.", res.Output.Unusable, read)}
	return res, nil
}

// load reads the usable clippings: each once, with a date and who published it.
func load(library folder.Folder) (clippings []Source, read int, err error) {
	seen := map[string]bool{}
	err = folder.Lines(library, file, func(_ int, s Source) {
		read++
		_, undated := time.Parse(time.DateOnly, s.Date)
		if s.ID == "" || s.Publisher == "" || s.Text == "" || undated != nil || seen[s.ID] {
			return
		}
		seen[s.ID] = true
		s.Title, s.Text = plain(s.Title), plain(s.Text)
		clippings = append(clippings, s)
	}, func(int, string) { read++ })
	return clippings, read, err
}

var tag = regexp.MustCompile(`<[^<>]*>`)

// plain is text without markup.
func plain(text string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tag.ReplaceAllString(text, " "))), " ")
}

// rank orders the clippings that answer by how many of the words they have. A
// word that a third of the library has tells nothing.
func rank(clippings []Source, query []string) []Source {
	has := make([]map[string]bool, len(clippings))
	spread := map[string]int{}
	for i, c := range clippings {
		has[i] = map[string]bool{}
		for _, word := range words(c.Title + " " + c.Text) {
			has[i][word] = true
			spread[word]++
		}
	}
	type hit struct {
		Source
		score int
	}
	var hits []hit
	for i, c := range clippings {
		h := hit{Source: c}
		for _, word := range query {
			if has[i][word] && spread[word]*3 <= len(clippings) {
				h.score++
			}
		}
		if h.score >= enough {
			hits = append(hits, h)
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		if a.score != b.score {
			return b.score - a.score
		}
		return strings.Compare(b.Date, a.Date)
	})
	out := make([]Source, len(hits))
	for i, h := range hits {
		out[i] = h.Source
	}
	return out
}

// common are long words that say nothing of a subject.
var common = map[string]bool{"which": true, "what": true, "with": true, "from": true, "that": true, "this": true, "many": true, "would": true, "their": true, "over": true, "large": true, "these": true, "about": true, "does": true, "there": true}

// words are the words of four letters and more, each once, without plurals.
func words(text string) []string {
	var out []string
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len(word) < 4 || common[word] {
			continue
		}
		if word = strings.TrimSuffix(word, "s"); !slices.Contains(out, word) {
			out = append(out, word)
		}
	}
	return out
}
