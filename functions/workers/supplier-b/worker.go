// Package supplierb is the worker supplier-b: what the second supplier asks for
// an article. It sells whole packs, and some days its list is not there.
package supplierb

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/folder"
	suppliera "github.com/outerloop-dev/outerloop/functions/workers/supplier-a"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Connection is the supplier, List its price list there.
const (
	Connection = "supplier-b"
	List       = "packs.csv"
)

// Worker is supplier-b. Its input and output are those of supplier-a.
var Worker = worker.New("supplier-b", 1, quote)

func quote(_ context.Context, t worker.Task[suppliera.Input]) (worker.Result[suppliera.Offer], error) {
	var res worker.Result[suppliera.Offer]
	supplier, err := folder.Of(t.Connection(Connection))
	if err != nil {
		return res, err
	}
	content, err := supplier.Read(List)
	if err != nil {
		return res, worker.Transient("%w", err)
	}
	rows := csv.NewReader(strings.NewReader(string(content)))
	rows.Comma, rows.FieldsPerRecord, rows.LazyQuotes = ';', -1, true
	all, err := rows.ReadAll()
	if err != nil {
		return res, worker.Transient("reading the price list: %w", err)
	}
	for i, row := range all {
		size, price, days, ok := pack(row)
		if !ok || !strings.EqualFold(strings.TrimSpace(row[0]), t.Input.SKU) {
			continue
		}
		packs := (t.Input.Qty + size - 1) / size
		res.Output = suppliera.Offer{Qty: packs * size, Total: math.Round(price*float64(packs)*100) / 100, Days: days}
		res.Confidence, res.Reason = worker.High, "The price list says so."
		res.Evidence = []worker.Evidence{{Claim: fmt.Sprintf("%d packs of %d at %.2f EUR", packs, size, price), Source: "input.sku", At: fmt.Sprintf("%s, row %d", List, i+1)}}
		return res, nil
	}
	return res, worker.Refused("supplier-b does not list %s, or without a price", t.Input.SKU)
}

// pack reads a row: article, pieces in a pack, price of a pack, days; the
// header and rows "on request" are none.
func pack(row []string) (size int, price float64, days int, ok bool) {
	if len(row) < 4 {
		return 0, 0, 0, false
	}
	size, err := strconv.Atoi(strings.TrimSpace(row[1]))
	if err != nil || size < 1 {
		return 0, 0, 0, false
	}
	price, err = strconv.ParseFloat(strings.NewReplacer(".", "", ",", ".").Replace(strings.TrimSpace(row[2])), 64)
	if err != nil || price <= 0 {
		return 0, 0, 0, false
	}
	days, err = strconv.Atoi(strings.TrimSpace(row[3]))
	return size, price, days, err == nil
}
