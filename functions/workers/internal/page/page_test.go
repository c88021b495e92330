package page_test

import (
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/page"
)

func TestPageEscapesAndLinksOnlyTheWeb(t *testing.T) {
	t.Parallel()
	html, err := page.Render(page.Report{
		Title: "A <b>", Sections: []page.Section{{Title: "One", Points: []page.Point{
			{Text: "x & y", Source: "S-1", Link: "https://a.example/?q=1"}, {Text: "z", Source: "S-2", Link: "javascript:alert(1)"},
		}}},
		Missing: []page.Point{{Text: "Two", Source: "nobody knows"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"A &lt;b&gt;", "x &amp; y", `href="https://a.example/?q=1"`, "<strong>Two</strong>: nobody knows"} {
		if !strings.Contains(string(html), want) {
			t.Errorf("%q is missing in %s", want, html)
		}
	}
	if strings.Contains(string(html), "javascript:") || strings.Contains(string(html), "<script") {
		t.Error("the page has a script")
	}
}
