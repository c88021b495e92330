package crmscan_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	crmscan "github.com/outerloop-dev/outerloop/functions/workers/crm-scan"
	"github.com/outerloop-dev/outerloop/functions/workers/internal/crm"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

var header = strings.Join(crm.Columns(), ",")

// good is a row in the order of crm.Columns.
const good = "D-1,Renewal,Acme,Ana Gómez,ana@acme.example,Approved,Nora Weiß,Proposal,Starter,\"1,000.00\",USD,5%,2026-11-01"

// won is a row that is neither open nor rejected.
var won = strings.NewReplacer("D-1,", "D-won,", "Proposal", "Closed won").Replace(good)

func input(change func(map[string]any)) map[string]any {
	in := map[string]any{
		"file": "export", "as_of": "2026-11-30", "stale_after": "14d",
		"eur": map[string]any{"USD": 0.92, "GBP": 1.17, "CHF": 1.05},
	}
	if change != nil {
		change(in)
	}
	return in
}

func scan(t *testing.T, csv string) crmscan.Output {
	t.Helper()
	o := workertest.Run(t, crmscan.Worker, input(nil), workertest.Setup{Files: map[string][]byte{"file": []byte(csv)}})
	return workertest.Output[crmscan.Output](t, o)
}

func TestScanFindsStaleDeals(t *testing.T) {
	t.Parallel()
	out := scan(t, "\ufeff"+header+"\r\n"+good+"\r\n")
	want := crm.Deal{
		ID: "D-1", Name: "Renewal", Company: "Acme", Contact: "Ana Gómez", Email: "ana@acme.example",
		ContactStatus: "approved", Owner: "Nora Weiß", Stage: "proposal", Product: "Starter", Amount: 1000, Currency: "USD",
		AmountEUR: 920, Discount: 0.05, LastActivity: "2026-11-01", IdleDays: 29,
		Source: crm.Source{Row: 2, Offset: int64(len("\ufeff" + header + "\r\n"))},
	}
	if len(out.Stale) != 1 || out.Stale[0] != want {
		t.Errorf("stale:\n%+v, want\n%+v", out.Stale, want)
	}
	if out.Read != 1 || out.Open != 1 || out.Totals.StaleEUR != 920 || out.Totals.OpenEUR != 920 || out.Totals.Stale != 1 {
		t.Errorf("totals %+v", out.Totals)
	}
}

func run(t *testing.T, rows ...string) workertest.Outcome {
	t.Helper()
	csv := header + "\n" + strings.Join(rows, "\n") + "\n"
	return workertest.Run(t, crmscan.Worker, input(nil), workertest.Setup{Files: map[string][]byte{"file": []byte(csv)}})
}

// What was rejected is decided, row by row up to a bound, and asked of the owner.
func TestScanSaysWhatItRejects(t *testing.T) {
	t.Parallel()
	rows := []string{good, strings.Replace(good, "D-1,", "D-2,", 1)}
	if o := run(t, rows...); len(o.Result.Unresolved) > 0 || !slices.Contains(o.Result.Decisions, "No row was rejected.") {
		t.Errorf("%q, unresolved %q", o.Result.Decisions, o.Result.Unresolved)
	}
	for n := range 40 {
		rows = append(rows, strings.NewReplacer("D-1,", fmt.Sprintf("D-%d,", n+3), "Proposal", "Maybe").Replace(good))
	}
	rows = append(rows, "short")
	o := run(t, rows...)
	decided := strings.Join(o.Result.Decisions, "\n")
	for _, want := range []string{
		"41 of 43 rows were rejected.\nRow 4 was rejected: Stage \"Maybe\" is not a stage.\nRow 5 ", "Row 33 was", "\n11 more rows were rejected;",
	} {
		if !strings.Contains(decided, want) {
			t.Errorf("%q lacks %q", decided, want)
		}
	}
	if strings.Contains(decided, "Row 34 ") || !strings.Contains(o.Result.Reason, "41 of 43 were rejected") {
		t.Errorf("%s\n%q", o.Result.Reason, decided)
	}
	asked := strings.Join(o.Result.Unresolved, "\n")
	if !strings.Contains(asked, `the 41 of 43 rows that were rejected? 40 for Stage, first row 4 (Stage "Maybe" is not a stage); 1 for the row itself, first row 44 (`) {
		t.Errorf("unresolved %q", asked)
	}
}

// An export of which no row can be used is no success: its form is wrong, and the cause says how.
func TestScanRefusesWhenEveryRowIsRejected(t *testing.T) {
	t.Parallel()
	bad := strings.Replace(good, "2026-11-01", "01.11.2026", 1)
	o := run(t, bad, strings.Replace(bad, "D-1,", "D-2,", 1))
	want := `none of the 2 rows of the export can be used: 2 for Last activity, first row 2 (Last activity "01.11.2026" is not a date of the form YYYY-MM-DD)`
	if o.Failure == nil || o.Failure.Class != "missing_input" || !strings.Contains(o.Failure.Message, want) {
		t.Errorf("%+v", o.Failure)
	}
	if o := run(t, bad, won); o.Failure != nil {
		t.Errorf("with one closed deal: %+v", o.Failure)
	}
}

// Every row is open, closed or rejected with its number and a reason.
func TestScanPutsEachRowInItsPlace(t *testing.T) {
	t.Parallel()
	cases := []struct {
		from, to string
		place    string
	}{
		{"2026-11-01", "2026-11-16", "stale"},
		{"2026-11-01", "2026-11-17", "open"},
		{"2026-11-01", "2026-11-30", "open"},
		{"2026-11-01", "2026-12-01", "2026-12-01 is after 2026-11-30"},
		{"2026-11-01", "01.11.2026", `"01.11.2026" is not a date`},
		{"Proposal", "Closed won", "closed"},
		{"Proposal", "CLOSED LOST", "closed"},
		{"Proposal", "Maybe", `"Maybe" is not a stage`},
		{"ana@acme.example", "", "E-mail is empty"},
		{"ana@acme.example", "ana(at)acme.example", "is not an e-mail address"},
		{"USD", "JPY", `"JPY" has no stated rate`},
		{"USD", "eur", "stale"},
		{`"1,000.00"`, `"1.000,00"`, "is not of the form 12,500.00"},
		{"Approved", "perhaps", "is none of approved, pending, opted out"},
		{"Approved", "Opted out", "stale"},
		{"Ana Gómez", "", "stale"},
		{"Acme", "", "Company is empty"},
		{"D-1", "D 1", `"D 1" is not an id`},
		{"5%", "5", "is not of the form 5%"},
		{"Starter", "a\u200bb", "invisible character U+200B"},
		{"Acme", "", "Company is empty"},
		{"Acme,Ana Gómez,ana@acme.example", ",Ana Gómez,ana", "Company is empty. E-mail \"ana\" is not"},
	}
	for _, c := range cases {
		out := scan(t, header+"\n"+strings.Replace(good, c.from, c.to, 1)+"\n"+won+"\n")
		if out.Read != out.Open+out.Closed+len(out.Rejected) || out.Read != 2 {
			t.Errorf("%s: read %d = %d + %d + %d", c.to, out.Read, out.Open, out.Closed, len(out.Rejected))
		}
		got := "open"
		switch {
		case out.Closed == 2:
			got = "closed"
		case len(out.Stale) == 1:
			got = "stale"
		case len(out.Rejected) == 1:
			got = out.Rejected[0].Reason
			if out.Rejected[0].Row != 2 {
				t.Errorf("%s: rejected row %d", c.to, out.Rejected[0].Row)
			}
		}
		if !strings.Contains(got, c.place) {
			t.Errorf("%s: %s, want %s", c.to, got, c.place)
		}
	}
}

func TestScanTakesTheFirstOfDuplicates(t *testing.T) {
	t.Parallel()
	out := scan(t, header+"\n"+good+"\n"+strings.Replace(good, "1,000.00", "9.00", 1)+"\n")
	if len(out.Stale) != 1 || out.Stale[0].Amount != 1000 || !strings.Contains(out.Rejected[0].Reason, "stands in row 2 already") {
		t.Errorf("%+v", out)
	}
}

func TestScanConvertsExactly(t *testing.T) {
	t.Parallel()
	for amount, want := range map[string]float64{"0.01": 0.01, "10869.56": 10000, "10869.57": 10000, "10869.55": 9999.99, "0": 0} {
		out := scan(t, header+"\n"+strings.Replace(good, `"1,000.00"`, amount, 1)+"\n")
		if out.Stale[0].AmountEUR != want {
			t.Errorf("USD %s are EUR %v, want %v", amount, out.Stale[0].AmountEUR, want)
		}
	}
}

func TestScanRefusesUnusableInput(t *testing.T) {
	t.Parallel()
	for _, change := range []func(map[string]any){
		func(in map[string]any) { in["as_of"] = "2026-11-30T00:00:00Z" },
		func(in map[string]any) { in["stale_after"] = "2h" },
		func(in map[string]any) { in["stale_after"] = "0d" },
		func(in map[string]any) { in["eur"] = map[string]any{"EUR": 1.1} },
		func(in map[string]any) { in["eur"] = map[string]any{"USD": 0} },
		func(in map[string]any) { in["file"] = "" },
	} {
		o := workertest.Run(t, crmscan.Worker, input(change), workertest.Setup{})
		if o.Failure == nil || o.Failure.Class != "missing_input" && o.Failure.Class != "fatal" {
			t.Errorf("%v", o.Failure)
		}
	}
	o := workertest.Run(t, crmscan.Worker, input(nil), workertest.Setup{Files: map[string][]byte{"file": []byte("no export")}})
	if o.Failure == nil || o.Failure.Class != "missing_input" || !strings.Contains(o.Failure.Message, "the export is not a CRM export") {
		t.Errorf("%v", o.Failure)
	}
}

func check(t *testing.T, path string) error {
	t.Helper()
	file, err := worker.OpenPath(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return crmscan.Worker.Check(t.Context(), worker.CheckInput{Property: "file", Name: path, File: file})
}

// Bad files get one message each before a run exists.
func TestCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct{ content, want string }{
		"empty.csv":   {"", "empty.csv is empty: the first row must name the columns"},
		"header.csv":  {header + "\r\n", "header.csv has no rows below its header"},
		"latin1.csv":  {header + "\nM\xfcller\n", "latin1.csv is not valid UTF-8 (row 2); export it as UTF-8"},
		"letter.csv":  {"Dear Sir or Madam\n", "letter.csv is not a CRM export"},
		"image.csv":   {"\x89PNG\r\n\x1a\n\x00\x00", "image.csv is not a CSV file: it holds a zero byte at byte 8"},
		"columns.csv": {strings.Replace(header, ",Owner", "", 1) + "\n", "columns.csv lacks the column Owner"},
		"good.csv":    {header + "\n" + good + "\n", ""},
		"dirty.csv":   {header + "\n" + good + "\nD-2,only three,cells\n", ""},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		err := check(t, path)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v, want …%s", name, err, c.want)
		}
	}
	for path, want := range map[string]string{
		dir: "is a directory", os.DevNull: "is a device", filepath.Join(dir, "absent.csv"): "there is no such file",
	} {
		if err := check(t, path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want …%s", path, err, want)
		}
	}
	if err := check(t, "../../../exports/crm.csv"); err != nil {
		t.Errorf("the shipped export: %v", err)
	}
}

// endless is a file of one line without an end.
type endless struct {
	size int64
	read int64
}

func (e *endless) ReadAt(p []byte, _ int64) (int, error) {
	e.read += int64(len(p))
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}
func (e *endless) Close() error { return nil }
func (e *endless) Size() int64  { return e.size }

// A line of 1 GB is refused after reading about as much as a record may have.
func TestCheckDoesNotReadALongLine(t *testing.T) {
	t.Parallel()
	file := &endless{size: 1 << 30}
	err := crmscan.Check(t.Context(), worker.CheckInput{Name: "long.csv", File: file})
	if err == nil || !strings.Contains(err.Error(), "long.csv has a record longer than 1048576 bytes that begins at row 1") {
		t.Errorf("%v", err)
	}
	if file.read > 4*crm.RecordLimit {
		t.Errorf("read %d bytes of it", file.read)
	}
}

// 50,000 deals are scanned in memory that is about what is stale of them.
func TestScanOfManyDeals(t *testing.T) {
	const deals = 50_000
	var csv bytes.Buffer
	fmt.Fprintln(&csv, header)
	for n := range deals {
		row := strings.Replace(good, "D-1", fmt.Sprintf("D-%d", n), 1)
		if n%10 > 0 {
			row = strings.Replace(row, "2026-11-01", "2026-11-29", 1)
		}
		fmt.Fprintln(&csv, row)
	}
	before := heap()
	out := scan(t, csv.String())
	if out.Read != deals || len(out.Stale) != deals/10 || out.Totals.StaleEUR != deals/10*920 {
		t.Errorf("read %d, %d stale, %v EUR", out.Read, len(out.Stale), out.Totals.StaleEUR)
	}
	if used := heap() - before; used > 40<<20 {
		t.Errorf("%d MB are in use after the scan", used>>20)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The same export always gives the same output, and the shipped one holds
// every kind of dirt.
func TestScanOfTheShippedExport(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../../exports/crm.csv")
	if err != nil {
		t.Fatal(err)
	}
	out := scan(t, string(content))
	if out.Read < 300 || out.Read != out.Open+out.Closed+len(out.Rejected) || len(out.Stale) < 40 || out.Closed < 50 {
		t.Errorf("totals %+v", out.Totals)
	}
	var columns []string
	for _, r := range out.Rejected {
		if !slices.Contains(columns, r.Column) {
			columns = append(columns, r.Column)
		}
	}
	slices.Sort(columns)
	want := []string{"", "Amount", "Company", "Contact status", "Currency", "Deal ID", "Deal name", "Discount", "E-mail", "Last activity", "Stage"}
	if !slices.Equal(columns, want) {
		t.Errorf("rejected for %q, want %q", columns, want)
	}
}

// Whatever an export holds, every row that is read is accounted for.
func FuzzScan(f *testing.F) {
	f.Add(good)
	f.Add(`D-2,"a` + "\n" + good)
	f.Add(strings.Replace(good, "D-1", "D-1,x", 1) + "\n" + good + "\n\n,,,,,,,,,,,,\n")
	f.Fuzz(func(t *testing.T, rows string) {
		o := workertest.Run(t, crmscan.Worker, input(nil), workertest.Setup{
			Files: map[string][]byte{"file": []byte(header + "\n" + rows)},
		})
		if o.Failure != nil {
			if o.Failure.Class != "missing_input" {
				t.Fatalf("%s: %s", o.Failure.Class, o.Failure.Message)
			}
			return
		}
		out := workertest.Output[crmscan.Output](t, o)
		if out.Read != out.Open+out.Closed+len(out.Rejected) {
			t.Fatalf("read %d = %d + %d + %d", out.Read, out.Open, out.Closed, len(out.Rejected))
		}
	})
}

// A cancelled check ends.
func TestCheckEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := worker.FileOf([]byte(header + "\n" + good + "\n"))
	if err := crmscan.Check(ctx, worker.CheckInput{Name: "x", File: file}); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
}
