package salesdashboard_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	salesdashboard "github.com/outerloop-dev/outerloop/functions/workers/sales-dashboard"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

const input = `{
  "totals": {"as_of": "2026-11-30", "stale_after_days": 14, "read": 9, "open": 6, "closed": 2, "rejected": 1, "stale": 4,
    "open_eur": 61234.5, "stale_eur": 20000, "stages": [
      {"stage": "lead", "deals": 2, "stale": 1, "eur": 1234.5}, {"stage": "negotiation", "deals": 4, "stale": 3, "eur": 60000}]},
  "done": [{"deal": "D-1", "mail": "<x@acme.example>"}, {"deal": "D-2", "mail": ""}, {"deal": "D-5", "mail": "", "declined": true}],
  "rejected": [{"row": 7, "column": "Stage", "reason": "Stage \"<i>\" is not a stage."}],
  "missing": [{"key": "D-4", "step": "follow_up/send", "cause": "refused", "say": ""},
    {"key": "D-3", "step": "follow_up/draft", "cause": "fatal", "say": "No follow-up for <b>Acme</b> & Co."}]}`

func fact(t *testing.T) []byte {
	t.Helper()
	o := workertest.Run(t, salesdashboard.Worker, json.RawMessage(input), workertest.Setup{})
	workertest.Output[salesdashboard.Output](t, o)
	return o.Result.Output
}

func TestFact(t *testing.T) {
	t.Parallel()
	var out salesdashboard.Output
	if err := json.Unmarshal(fact(t), &out); err != nil {
		t.Fatal(err)
	}
	if out.Mails != 1 || out.NoMail != 1 || out.Declined != 1 || out.Stale != 4 || out.Currency != "EUR" || out.OpenEUR != 61234.5 {
		t.Errorf("%+v", out)
	}
	if len(out.Missing) != 2 || out.Missing[0].Deal != "D-3" || out.Missing[1].Why != "refused" {
		t.Errorf("%+v", out.Missing)
	}
}

// The fact lists a bounded number of rejected rows; the page says how many there are in all.
func TestManyRejectedRows(t *testing.T) {
	t.Parallel()
	var in salesdashboard.Input
	if err := json.Unmarshal([]byte(input), &in); err != nil {
		t.Fatal(err)
	}
	in.Rejected = nil
	for row := range salesdashboard.RowsKept + 5 {
		in.Rejected = append(in.Rejected, salesdashboard.Rejection{Row: row + 2, Reason: "The row is short."})
	}
	in.Totals.Rejected = len(in.Rejected)
	o := workertest.Run(t, salesdashboard.Worker, in, workertest.Setup{})
	if out := workertest.Output[salesdashboard.Output](t, o); len(out.RejectedRows) != salesdashboard.RowsKept || out.Rejected != salesdashboard.RowsKept+5 {
		t.Errorf("%d rows are kept, %d counted", len(out.RejectedRows), out.Rejected)
	}
	page, err := salesdashboard.Render(o.Result.Output)
	if err != nil || !strings.Contains(string(page), "The first 1000 of 1005.") || strings.Count(string(page), "<td>the row itself</td>") != salesdashboard.RowsKept {
		t.Errorf("the page does not say what it leaves out, %v", err)
	}
}

// The page stands alone, escapes what it shows, and is the same for the same fact.
func TestRender(t *testing.T) {
	t.Parallel()
	page, err := salesdashboard.Render(fact(t))
	if err != nil {
		t.Fatal(err)
	}
	again, err := salesdashboard.Render(fact(t))
	if err != nil || string(again) != string(page) {
		t.Errorf("another page of the same fact, %v", err)
	}
	text := string(page)
	for _, want := range []string{
		`<html lang="en">`, "prefers-color-scheme: dark", "<title>", "EUR 61,234.50", "No follow-up for &lt;b&gt;Acme&lt;/b&gt; &amp; Co.",
		`scope="col"`, "1 of 9 rows of the export could not be used", "<dt>Declined by a person</dt><dd>1</dd>",
		`<td class="n">7</td><td>Stage</td><td>Stage &#34;&lt;i&gt;&#34; is not a stage.</td>`,
		"width: 2.1%", "width: 100.0%",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if outside := regexp.MustCompile(`(?i)<script|https?://|url\(|@import|<link|ZgotmplZ`).FindString(text); outside != "" {
		t.Errorf("the page holds %q", outside)
	}
	if _, err := salesdashboard.Render([]byte("[]")); err == nil {
		t.Error("a page was made of no fact")
	}
}
