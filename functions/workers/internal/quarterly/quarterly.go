// Package quarterly holds what the workers of the quarterly report hand each other.
package quarterly

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Record is one paper, patent or event.
type Record struct {
	ID     string `json:"id"`
	Date   string `json:"date"`
	Title  string `json:"title"`
	Theme  string `json:"theme"`
	Weight int    `json:"weight"`
}

// Theme is how many records a theme has, in the quarter and in the one before.
type Theme struct {
	Theme  string `json:"theme"`
	Count  int    `json:"count"`
	Before int    `json:"before"`
}

// Topic is the report of one topic.
type Topic struct {
	Topic      string   `json:"topic"`
	Quarter    string   `json:"quarter"`
	Total      int      `json:"total"`
	Before     int      `json:"before"`
	Change     float64  `json:"change_percent"`
	Themes     []Theme  `json:"themes"`
	Highlights []Record `json:"highlights"`
}

// Statement is what the analysis says, with the figures that it rests on.
type Statement struct {
	Text    string    `json:"text"`
	Figures []float64 `json:"figures"`
	Topics  []string  `json:"topics"`
}

// Gap is a topic that could not be researched.
type Gap struct {
	Topic string `json:"topic"`
	Why   string `json:"why"`
}

// Analysis is what all topics say together.
type Analysis struct {
	Quarter    string      `json:"quarter"`
	Statements []Statement `json:"statements"`
	Gaps       []Gap       `json:"gaps"`
}

// Document is the report as it is published.
type Document struct {
	Title    string    `json:"title"`
	Quarter  string    `json:"quarter"`
	Sections []Section `json:"sections"`
}

// Section is a part of the document.
type Section struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

// Percent is the change from before to now in percent, to one decimal; from
// nothing, it is 100.
func Percent(now, before int) float64 {
	if before == 0 {
		if now == 0 {
			return 0
		}
		return 100
	}
	text := strconv.FormatFloat(100*float64(now-before)/float64(before), 'f', 1, 64)
	v, _ := strconv.ParseFloat(text, 64) // what was just written
	return v
}

// Span is the first day of a quarter such as 2026-Q3 and of the next.
func Span(quarter string) (from, to time.Time, err error) {
	year, number, found := strings.Cut(quarter, "-Q")
	y, badYear := strconv.Atoi(year)
	q, badNumber := strconv.Atoi(number)
	if !found || badYear != nil || badNumber != nil || q < 1 || q > 4 || y < 1900 || y > 9999 {
		return from, to, fmt.Errorf("%q is no quarter: write 2026-Q3", quarter)
	}
	from = time.Date(y, time.Month(3*q-2), 1, 0, 0, 0, 0, time.UTC)
	return from, from.AddDate(0, 3, 0), nil
}
