package crmscan

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/crm"
)

// parser reads the cells of an open deal and collects everything that is wrong
// with them.
type parser struct {
	row     crm.Row
	scanner *scanner
	column  string
	reasons []string
}

func (p *parser) fault(column string, err error) {
	if p.column == "" {
		p.column = column
	}
	p.reasons = append(p.reasons, fmt.Sprintf("%s %s.", column, err))
}

func (p *parser) text(column string, needed bool) string {
	text, err := crm.ParseText(p.row.Cell(column))
	switch {
	case err != nil:
		p.fault(column, err)
	case text == "" && needed:
		p.fault(column, errors.New("is empty"))
	}
	return text
}

// parsed reads one cell with one of the forms of package crm.
func parsed[T any](p *parser, column string, parse func(string) (T, error)) T {
	value, err := parse(p.row.Cell(column))
	if err != nil {
		p.fault(column, err)
	}
	return value
}

func (p *parser) deal(id, stage string) crm.Deal {
	if !slices.Contains(stages, stage) {
		p.fault(crm.ColumnStage, fmt.Errorf("%s is not a stage", crm.Quote(p.row.Cell(crm.ColumnStage))))
	}
	deal := crm.Deal{
		ID: id, Stage: stage, Source: p.row.Source,
		Name:          p.text(crm.ColumnName, true),
		Company:       p.text(crm.ColumnCompany, true),
		Contact:       p.text(crm.ColumnContact, false),
		Email:         parsed(p, crm.ColumnEmail, crm.ParseEmail),
		ContactStatus: p.contactStatus(),
		Owner:         p.text(crm.ColumnOwner, true),
		Product:       p.text(crm.ColumnProduct, false),
	}
	cents := parsed(p, crm.ColumnAmount, crm.ParseAmount)
	deal.Amount = crm.Amount(cents)
	deal.Currency, deal.AmountEUR = p.euro(cents)
	deal.Discount = float64(parsed(p, crm.ColumnDiscount, crm.ParseDiscount)) / 1e4
	deal.LastActivity, deal.IdleDays = p.activity()
	return deal
}

func (p *parser) contactStatus() string {
	cell := crm.Text(p.row.Cell(crm.ColumnStatus))
	status, ok := contactStatuses[strings.ToLower(cell)]
	if !ok {
		p.fault(crm.ColumnStatus, fmt.Errorf("%s is none of approved, pending, opted out", crm.Quote(cell)))
	}
	return status
}

// euro converts at the stated rate, exactly, and rounds half a cent up.
func (p *parser) euro(cents int64) (currency string, eur float64) {
	currency = strings.ToUpper(crm.Text(p.row.Cell(crm.ColumnCurrency)))
	rate, ok := p.scanner.rates[currency]
	if !ok {
		p.fault(crm.ColumnCurrency, fmt.Errorf("%s has no stated rate", crm.Quote(currency)))
		return currency, 0
	}
	exact := new(big.Rat).Mul(rate, new(big.Rat).SetInt64(cents))
	exact.Add(exact, big.NewRat(1, 2))
	return currency, crm.Amount(new(big.Int).Quo(exact.Num(), exact.Denom()).Int64())
}

func (p *parser) activity() (day string, idle int) {
	last, err := crm.ParseDay(p.row.Cell(crm.ColumnActivity))
	if err != nil {
		p.fault(crm.ColumnActivity, err)
		return "", 0
	}
	if last.After(p.scanner.asOf) {
		p.fault(crm.ColumnActivity, fmt.Errorf("%s is after %s", last.Format(crm.Day), p.scanner.asOf.Format(crm.Day)))
		return "", 0
	}
	return last.Format(crm.Day), int(p.scanner.asOf.Sub(last) / (24 * time.Hour))
}
