// Package page renders a report as one HTML file without scripts, fonts or
// anything else from outside, for light and dark screens.
package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"
)

// Report is what a page shows.
type Report struct {
	Title string
	// Lead stands under the title.
	Lead     string
	Sections []Section
	// Missing says what the report does not cover, and why.
	Missing []Point
}

// Section is a part of a report.
type Section struct {
	Title, Text string
	Points      []Point
}

// Point is a statement with its source.
type Point struct {
	Text   string
	Source string
	// Link is the source's address; one that is not http or https is not linked.
	Link string
}

// Linked tells whether the point's link may be followed.
func (p Point) Linked() bool {
	return strings.HasPrefix(p.Link, "https://") || strings.HasPrefix(p.Link, "http://")
}

//go:embed page.html
var text string

var page = template.Must(template.New("page.html").Parse(text))

// Render makes the page; the same report always gives the same bytes.
func Render(r Report) ([]byte, error) {
	var out bytes.Buffer
	if err := page.Execute(&out, r); err != nil {
		return nil, fmt.Errorf("writing the page %q: %w", r.Title, err)
	}
	return out.Bytes(), nil
}
