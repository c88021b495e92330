package invoice_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/functions/workers/books"
	invoicematcher "github.com/outerloop-dev/outerloop/functions/workers/invoice-matcher"
	invoiceocr "github.com/outerloop-dev/outerloop/functions/workers/invoice-ocr"
	invoicereader "github.com/outerloop-dev/outerloop/functions/workers/invoice-reader"
	"github.com/outerloop-dev/outerloop/functions/workers/ledger"
	orderlookup "github.com/outerloop-dev/outerloop/functions/workers/order-lookup"
	"github.com/outerloop-dev/outerloop/internal/sampletest"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

func world(t *testing.T, now time.Time) *sampletest.World {
	t.Helper()
	return sampletest.New(t, sampletest.Setup{
		Root: "../..", Now: now, Loops: []string{"invoice", "month-end"},
		Workers: []worker.Worker{
			invoicereader.Worker, invoiceocr.Worker, orderlookup.Worker, invoicematcher.Worker, ledger.Worker, books.Worker,
		},
	})
}

// document is a line of the inbox.
type document struct {
	Received time.Time `json:"received"`
	Supplier string    `json:"supplier"`
	Number   string    `json:"number"`
	File     string    `json:"file"`
	SentBy   string    `json:"sent_by"`
}

func inbox(t *testing.T) []document {
	t.Helper()
	f, err := os.Open("inbox.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []document
	for s := bufio.NewScanner(f); s.Scan(); {
		var d document
		if err := json.Unmarshal(s.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}

// receive is the scanner's webhook; the scan itself is kept as a blob.
func receive(w *sampletest.World, d document) (string, error) {
	w.Helper()
	d.File = w.File("samples/invoice/" + d.File)
	return w.Webhook("scanner", d)
}

// S10: an invoice that matches its order is posted without a question; a
// difference, a large amount or a damaged scan asks; the same invoice by another
// way is refused (R38, R46).
func TestInbox(t *testing.T) {
	t.Parallel()
	d := open(t)
	if n := d.with(outerloop.StatusCompleted); n != 15 {
		t.Errorf("%d invoices went through without a question, want 15", n)
	}
	asked := map[string]int{}
	for _, ap := range d.Approvals("") {
		asked[ap.Step]++
	}
	// 4 damaged scans; 5 large amounts and 8 differences. What is no invoice and what does not add up are exceptions.
	if asked["extract"] != 4 || asked["release"] != 13 || len(d.Exceptions("")) != 2 || d.refused != 1 {
		t.Errorf("asked %v, %d exceptions, %d refused", asked, len(d.Exceptions("")), d.refused)
	}
	if months := d.posted(); months["2026-11"] != 15 || len(months) != 1 {
		t.Errorf("posted %v", months)
	}
}

// Four eyes: who sent or ordered never approves, and nobody twice.
func TestFourEyes(t *testing.T) {
	t.Parallel()
	d := open(t)
	approval := d.approval("2026-1198") // ordered by carla
	for _, who := range []string{"carla@acme.example", "lead@acme.example", "nobody@acme.example"} {
		if err := d.Decide(approval, coordinator.Approve, who); !errors.Is(err, coordinator.ErrNotAllowed) {
			t.Errorf("%s: %v", who, err)
		}
	}
	if err := d.Decide(d.approval("I738-2026028"), coordinator.Approve, "anna"); !errors.Is(err, coordinator.ErrNotAllowed) {
		t.Errorf("who sent it: %v", err)
	}
	if err := d.Decide(approval, coordinator.Approve, "anna@acme.example"); err != nil {
		t.Error(err)
	}
	_ = d.Decide(approval, coordinator.Approve, "anna") // whatever it answers, it counts once
	if step := d.Step(d.runs["2026-1198"], "release"); step.Outcome != "" {
		t.Errorf("released with two eyes: %+v", step)
	}
	if err := d.Decide(approval, coordinator.Approve, "boris"); err != nil {
		t.Error(err)
	}
	if view := d.Show(d.runs["2026-1198"]); view.Status != outerloop.StatusCompleted {
		t.Errorf("%s: %s %+v", view.Status, view.Reason, view.Steps)
	}
	scan := d.runs["2026-1149"]
	if err := d.Decide(d.approval("2026-1149"), coordinator.Approve, "boris"); err != nil {
		t.Error(err)
	}
	if view := d.Show(scan); view.Status != outerloop.StatusCompleted {
		t.Errorf("a scan that a person has read: %s: %s", view.Status, view.Reason)
	}
}

// Nobody answers: finance is reminded every day, and after two days the
// directors are asked too, who may decide then (R46).
func TestEscalation(t *testing.T) {
	t.Parallel()
	d := open(t)
	approval := d.approval("2026-1324") // asked on the 29th at 02:42
	if err := d.Decide(approval, coordinator.Approve, "director"); !errors.Is(err, coordinator.ErrNotAllowed) {
		t.Errorf("before the escalation: %v", err)
	}
	d.Until(time.Date(2026, 12, 2, 3, 0, 0, 0, time.UTC))
	kinds := map[string]int{}
	ids := map[string]bool{}
	for _, alert := range d.Alerts() {
		if alert.Run == d.runs["2026-1324"] {
			kinds[alert.Kind+" "+alert.To]++
			ids[alert.ID] = true
		}
	}
	// Asked on the 29th, reminded on the 30th and the 2nd; on the 1st it was escalated.
	want := map[string]int{"request finance": 1, "reminder finance": 2, "escalation finance": 1, "escalation directors": 1, "reminder directors": 1}
	if !maps.Equal(kinds, want) || len(ids) != 6 {
		t.Errorf("alerts %v, want %v; %d ids", kinds, want, len(ids))
	}
	for _, who := range []string{"director", "me"} {
		if err := d.Decide(approval, coordinator.Approve, who); err != nil {
			t.Errorf("%s: %v", who, err)
		}
	}
	if step := d.Step(d.runs["2026-1324"], "release"); step.Outcome != outerloop.OutcomeCompleted {
		t.Errorf("%s: %s", step.Outcome, step.Reason)
	}
}

// The cut-off: what is released after 18:00 on a month's last day belongs to the
// next month, whose books are awaited. What nobody approves in four days stops.
func TestMonthEnd(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.Until(time.Date(2026, 11, 30, 17, 30, 0, 0, time.UTC)) // 18:30 in Berlin
	late := d.approval("2026-1184")
	for _, who := range []string{"boris", "me"} {
		if err := d.Decide(late, coordinator.Approve, who); err != nil {
			t.Fatal(err)
		}
	}
	run := d.runs["2026-1184"]
	if view := d.Show(run); view.Status != outerloop.StatusInProgress {
		t.Errorf("without books: %s, %s", view.Status, view.Reason)
	}
	d.Until(time.Date(2026, 12, 1, 7, 0, 0, 0, time.UTC))
	d.Start("month-end", map[string]bool{"open": true})
	d.Until(time.Date(2026, 12, 5, 0, 0, 0, 0, time.UTC))
	if view := d.Show(run); view.Status != outerloop.StatusCompleted || string(view.Output) == "" {
		t.Errorf("with books: %s, %s", view.Status, view.Reason)
	}
	if months := d.posted(); months["2026-11"] != 15 || months["2026-12"] != 1 {
		t.Errorf("posted %v", months)
	}
	if blocked := d.with(outerloop.StatusBlocked); blocked != 16 { // 12 releases and 4 scans
		t.Errorf("%d runs are blocked", blocked)
	}
}

// An uploaded invoice comes as an event (R11); told again, or uploaded by
// somebody else, it is still one run, one release and one posting (R38).
func TestUpload(t *testing.T) {
	t.Parallel()
	doc := inbox(t)[0]
	w := world(t, doc.Received)
	w.Start("month-end", map[string]bool{"open": true})
	for _, by := range []string{doc.SentBy, doc.SentBy, "lead@acme.example"} {
		w.Publish("invoice.uploaded", map[string]string{
			"supplier": doc.Supplier, "number": doc.Number, "file": w.File("samples/invoice/" + doc.File), "by": by,
		})
		w.For(time.Minute)
	}
	runs := w.Runs("invoice")
	if run := runs[doc.Supplier+"/"+doc.Number]; len(runs) != 1 || run.Status != outerloop.StatusCompleted {
		t.Errorf("%+v", runs)
	}
	if n := len(w.Made(ledger.Connection)); n != 2 {
		t.Errorf("the ledger has %d entries", n)
	}
}

// day is a world into which the whole inbox has come.
type day struct {
	*sampletest.World
	runs    map[string]string
	refused int
}

func open(t *testing.T) *day {
	t.Helper()
	documents := inbox(t)
	d := &day{World: world(t, documents[0].Received.Add(-time.Hour)), runs: map[string]string{}}
	d.Start("month-end", map[string]bool{"open": true})
	for _, doc := range documents {
		if doc.Received.After(d.Now()) {
			d.Until(doc.Received)
		}
		run, err := receive(d.World, doc)
		switch {
		case errors.Is(err, coordinator.ErrOtherInput):
			d.refused++ // the same invoice, handed in by somebody else
		case err != nil:
			t.Fatal(err)
		default:
			d.runs[doc.Number] = run
		}
	}
	d.For(time.Hour)
	return d
}

func (d *day) with(status outerloop.Status) int {
	d.Helper()
	n := 0
	for _, run := range d.runs {
		if d.Show(run).Status == status {
			n++
		}
	}
	return n
}

// approval is the only open request of an invoice.
func (d *day) approval(number string) string {
	d.Helper()
	open := d.Approvals(d.runs[number])
	if len(open) != 1 {
		d.Fatalf("%s waits for %+v", number, open)
	}
	return open[0].ID
}

// posted counts the ledger's postings by month: each has exactly one release.
func (d *day) posted() map[string]int {
	d.Helper()
	entries := map[string]int{}
	months := map[string]int{}
	for name, content := range d.Made(ledger.Connection) {
		var entry ledger.Output
		if err := json.Unmarshal([]byte(content), &entry); err != nil {
			d.Fatalf("%s: %v", name, err)
		}
		key := entry.Entry + " " + entry.Supplier + " " + entry.Number
		if entries[key]++; entries[key] > 1 {
			d.Errorf("the ledger has %s twice", key)
		}
		if entry.Entry == ledger.Post {
			months[entry.Month]++
		}
	}
	return months
}
