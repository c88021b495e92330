// Package orderlookup is the worker order-lookup: it finds a purchase order in
// the list of orders, which people keep.
package orderlookup

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/folder"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Number string `json:"number"`
}

// Output is the order (schemas/output.json).
type Output struct {
	Number    string  `json:"number"`
	Found     bool    `json:"found"`
	Supplier  string  `json:"supplier"`
	OrderedBy string  `json:"ordered_by"`
	Currency  string  `json:"currency"`
	Net       float64 `json:"net"`
}

// Connection is the list's place, List its file there.
const (
	Connection = "orders"
	List       = "orders.csv"
)

// Worker is order-lookup.
var Worker = worker.New("order-lookup", 1, lookUp)

func lookUp(_ context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	orders, err := folder.Of(t.Connection(Connection))
	if err != nil {
		return res, err
	}
	content, err := orders.Read(List)
	if errors.Is(err, fs.ErrNotExist) {
		return res, worker.Transient("%w", err)
	}
	if err != nil {
		return res, err
	}
	res.Output = Output{Number: t.Input.Number}
	at, unread := find(string(content), &res.Output)
	res.Confidence, res.Reason = worker.High, "The list of orders says so."
	claim := worker.Evidence{Claim: "The list has no such order", Source: "input.number"}
	if at > 0 {
		claim = worker.Evidence{Claim: "The order as it was last recorded", Source: "input.number", At: fmt.Sprintf("row %d of %s", at, List)}
	}
	res.Evidence = []worker.Evidence{claim}
	if unread > 0 {
		res.Decisions = []string{fmt.Sprintf("%d rows of the list cannot be used and were passed over.", unread)}
	}
	return res, nil
}

// find fills in the order's last row, since a change is a new row, and says which
// row that is; 0: none. Columns: number, supplier, ordered by, currency, net, note.
func find(content string, out *Output) (at, unread int) {
	want := number(out.Number)
	rows := csv.NewReader(strings.NewReader(strings.TrimPrefix(content, "\ufeff")))
	rows.Comma, rows.FieldsPerRecord, rows.LazyQuotes = ';', -1, true
	for first := true; ; first = false {
		row, err := rows.Read()
		if err == io.EOF {
			return at, unread
		}
		if first {
			continue
		}
		if err != nil || len(row) < 5 {
			unread++
			continue
		}
		if want == "" || number(row[0]) != want {
			continue
		}
		net, ok := amount(row[4])
		if !ok {
			unread++
			continue
		}
		at, _ = rows.FieldPos(0)
		*out = Output{
			Number: out.Number, Found: true, Supplier: strings.Join(strings.Fields(row[1]), " "),
			OrderedBy: strings.ToLower(strings.TrimSpace(row[2])), Currency: strings.ToUpper(strings.TrimSpace(row[3])), Net: net,
		}
	}
}

var digits = regexp.MustCompile(`[0-9]{4}`)

// number is what tells orders apart: people write PO-7731, po 7731 and 7731.
func number(text string) string { return digits.FindString(text) }

// amount reads 1.250,00 and 1250,00.
func amount(text string) (float64, bool) {
	plain := strings.NewReplacer(".", "", ",", ".", " ", "", "\u00a0", "").Replace(text)
	value, err := strconv.ParseFloat(plain, 64)
	return value, err == nil && value >= 0
}
