// Package stocklevel is the worker stock-level, the probe of inventory-watch: it
// reads the warehouse's list and names the articles below their minimum. It
// calls nothing that costs money.
package stocklevel

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/folder"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is empty (schemas/input.json): a probe is told nothing.
type Input struct{}

// Output is what is low (schemas/output.json).
type Output struct {
	Read     int         `json:"read"`
	Articles int         `json:"articles"`
	Low      []Item      `json:"low"`
	Rejected []Rejection `json:"rejected"`
}

// Item is an article below its minimum.
type Item struct {
	SKU     string  `json:"sku"`
	Name    string  `json:"name"`
	Stock   float64 `json:"stock"`
	Min     float64 `json:"min"`
	Reorder int     `json:"reorder"`
}

// Rejection is a row that cannot be used; the header is row 1.
type Rejection struct {
	Row    int    `json:"row"`
	Reason string `json:"reason"`
}

// Connection is the warehouse's place, List its file there.
const (
	Connection = "stock"
	List       = "stock.csv"
)

// Worker is stock-level.
var Worker = worker.New("stock-level", 1, probe)

func probe(_ context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	stock, err := folder.Of(t.Connection(Connection))
	if err != nil {
		return res, err
	}
	content, err := stock.Read(List)
	if errors.Is(err, fs.ErrNotExist) {
		return res, worker.Transient("%w", err)
	}
	if err != nil {
		return res, err
	}
	res.Output = count(string(content))
	res.Confidence, res.Reason = worker.High, "Every row was read by fixed rules."
	res.Evidence = []worker.Evidence{{
		Claim:  fmt.Sprintf("%d of %d articles are low, %d of %d rows cannot be used", len(res.Output.Low), res.Output.Articles, len(res.Output.Rejected), res.Output.Read),
		Source: "input", At: List,
	}}
	return res, nil
}

// row is one article in one warehouse. Columns: article, name, warehouse,
// stock, minimum, order quantity, state.
type row struct {
	item    Item
	retired bool
}

func count(content string) Output {
	out := Output{Low: []Item{}, Rejected: []Rejection{}}
	rows := csv.NewReader(strings.NewReader(strings.TrimPrefix(content, "\ufeff")))
	rows.FieldsPerRecord, rows.LazyQuotes, rows.TrimLeadingSpace = -1, true, true
	var order []string
	total := map[string]*row{}
	for first := true; ; first = false {
		fields, err := rows.Read()
		if err == io.EOF {
			break
		}
		if first {
			continue
		}
		out.Read++
		line, _ := rows.FieldPos(0)
		r, why := parse(fields, err)
		if why != "" {
			out.Rejected = append(out.Rejected, Rejection{line, why})
			continue
		}
		if have := total[r.item.SKU]; have != nil { // the same article in another warehouse
			have.item.Stock += r.item.Stock
			have.item.Min = max(have.item.Min, r.item.Min)
			have.item.Reorder = max(have.item.Reorder, r.item.Reorder)
			have.retired = have.retired || r.retired
			continue
		}
		order = append(order, r.item.SKU)
		total[r.item.SKU] = &r
	}
	for _, sku := range order {
		if r := total[sku]; r.item.Stock < r.item.Min && !r.retired {
			out.Low = append(out.Low, r.item)
		}
	}
	out.Articles = len(order)
	return out
}

func parse(fields []string, err error) (row, string) {
	switch {
	case err != nil:
		return row{}, "it is no row of a table"
	case len(fields) < 6:
		return row{}, fmt.Sprintf("it has %d columns, not 6", len(fields))
	}
	r := row{item: Item{SKU: strings.ToUpper(strings.TrimSpace(fields[0])), Name: strings.Join(strings.Fields(fields[1]), " ")}}
	if len(fields) > 6 {
		r.retired = strings.EqualFold(strings.TrimSpace(fields[6]), "retired")
	}
	reorder := 0.0
	for _, f := range []struct {
		column string
		text   string
		value  *float64
	}{{"stock", fields[3], &r.item.Stock}, {"minimum", fields[4], &r.item.Min}, {"order quantity", fields[5], &reorder}} {
		if *f.value, err = number(f.text); err != nil {
			return row{}, fmt.Sprintf("%q is no %s", f.text, f.column)
		}
	}
	if r.item.SKU == "" || reorder < 1 || reorder != float64(int(reorder)) {
		return row{}, "it has no article or no whole order quantity"
	}
	r.item.Reorder = int(reorder)
	return r, ""
}

// number reads 12, 12.5, 12,5 and "12 pcs".
func number(text string) (float64, error) {
	plain, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	return strconv.ParseFloat(strings.Replace(plain, ",", ".", 1), 64)
}
