package salesdashboard

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/crm"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"money": func(amount float64) string { return crm.Money(crm.Cents(amount), "EUR") },
	"share": func(part, whole float64) string {
		if whole == 0 {
			return "0"
		}
		return fmt.Sprintf("%.1f", 100*part/whole)
	},
}).Parse(pageText))

// missingShown is how many missing deals the page lists; it counts all.
const missingShown = 50

// Render makes an HTML page of the fact dashboard/sales: one file without
// scripts, fonts or anything else from outside, for light and dark screens.
// The same fact always gives the same page.
func Render(fact []byte) ([]byte, error) {
	var f Output
	if err := json.Unmarshal(fact, &f); err != nil {
		return nil, fmt.Errorf("reading the fact dashboard/sales: %w", err)
	}
	view := struct {
		Output
		Largest float64
		Shown   []Missing
	}{Output: f, Shown: f.Missing[:min(len(f.Missing), missingShown)]}
	for _, stage := range f.Stages {
		view.Largest = max(view.Largest, stage.EUR)
	}
	var out bytes.Buffer
	if err := page.Execute(&out, view); err != nil {
		return nil, fmt.Errorf("writing the dashboard page: %w", err)
	}
	return out.Bytes(), nil
}
