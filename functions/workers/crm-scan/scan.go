package crmscan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/crm"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// stages are those of an open deal, in the order of the sales process.
var stages = []string{"lead", "qualified", "proposal", "negotiation"}

// closedStages are those of a deal that is over.
var closedStages = map[string]bool{"closed won": true, "closed lost": true}

var contactStatuses = map[string]string{"approved": "approved", "pending": "pending", "opted out": "opted_out"}

// dealID is what an id may look like, since it becomes part of business keys.
var dealID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// scanner collects what a scan finds. Beside the result it keeps the ids only.
type scanner struct {
	asOf       time.Time
	staleAfter int
	rates      map[string]*big.Rat

	seen     map[string]int
	read     int
	closed   int
	last     int
	open     map[string]*stageCents
	stale    []crm.Deal
	rejected []Rejection
}

type stageCents struct {
	deals, stale    int
	cents, staleSum int64
}

func newScanner(in Input) (*scanner, error) {
	s := &scanner{
		rates: map[string]*big.Rat{"EUR": big.NewRat(1, 1)}, seen: map[string]int{},
		open: map[string]*stageCents{}, stale: []crm.Deal{}, rejected: []Rejection{},
	}
	for _, stage := range stages {
		s.open[stage] = &stageCents{}
	}
	var err error
	if s.asOf, err = crm.ParseDay(in.AsOf); err != nil {
		return nil, worker.MissingInput("as_of: %w", err)
	}
	days, ok := strings.CutSuffix(in.StaleAfter, "d")
	if s.staleAfter, err = strconv.Atoi(days); err != nil || !ok || s.staleAfter < 1 {
		return nil, worker.MissingInput("stale_after: %q is not a number of days such as 14d", in.StaleAfter)
	}
	for currency, rate := range in.EUR {
		exact, ok := new(big.Rat).SetString(rate.String())
		if !ok || exact.Sign() <= 0 || currency == "EUR" && exact.Cmp(big.NewRat(1, 1)) != 0 {
			return nil, worker.MissingInput("eur: the rate %s of %s is not usable", rate, currency)
		}
		s.rates[currency] = exact
	}
	return s, nil
}

func (s *scanner) scan(ctx context.Context, file worker.File) error {
	export, err := crm.Open(file, file.Size())
	if err != nil {
		return err
	}
	for {
		row, err := export.Next()
		var damaged *crm.RowError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &damaged):
			s.reject(damaged.Row, "", "The row "+damaged.Reason+".")
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		default:
			s.row(row)
		}
		s.read++
		if damaged != nil {
			s.last = damaged.Row
		} else {
			s.last = row.Row
		}
	}
}

func (s *scanner) reject(row int, column, reason string) {
	s.rejected = append(s.rejected, Rejection{row, column, reason})
}

// row puts one well-formed row where it belongs.
func (s *scanner) row(row crm.Row) {
	id := crm.Text(row.Cell(crm.ColumnID))
	if !dealID.MatchString(id) {
		s.reject(row.Row, crm.ColumnID, fmt.Sprintf("%s %s is not an id.", crm.ColumnID, crm.Quote(id)))
		return
	}
	if first, twice := s.seen[id]; twice {
		s.reject(row.Row, crm.ColumnID, fmt.Sprintf("Deal %s stands in row %d already; the first row counts.", id, first))
		return
	}
	s.seen[strings.Clone(id)] = row.Row
	stage := strings.ToLower(crm.Text(row.Cell(crm.ColumnStage)))
	if closedStages[stage] {
		s.closed++
		return
	}
	p := parser{row: row, scanner: s}
	deal := p.deal(id, stage)
	if len(p.reasons) > 0 {
		s.reject(row.Row, p.column, strings.Join(p.reasons, " "))
		return
	}
	s.count(deal)
}

// count adds an open deal to the totals, and to the stale ones if it is stale.
func (s *scanner) count(deal crm.Deal) {
	total := s.open[deal.Stage]
	cents := crm.Cents(deal.AmountEUR)
	total.deals++
	total.cents += cents
	if deal.IdleDays >= s.staleAfter {
		total.stale++
		total.staleSum += cents
		s.stale = append(s.stale, deal)
	}
}

func (s *scanner) output() Output {
	out := Output{Read: s.read, Closed: s.closed, Rejected: s.rejected, Stale: s.stale}
	var open, stale int64
	for _, stage := range stages {
		total := s.open[stage]
		out.Open += total.deals
		open += total.cents
		stale += total.staleSum
		out.Totals.Stages = append(out.Totals.Stages, crm.StageTotal{
			Stage: stage, Deals: total.deals, Stale: total.stale, EUR: crm.Amount(total.cents),
		})
	}
	t := &out.Totals
	t.AsOf, t.StaleAfterDays = s.asOf.Format(crm.Day), s.staleAfter
	t.Read, t.Open, t.Closed, t.Rejected, t.Stale = s.read, out.Open, s.closed, len(s.rejected), len(s.stale)
	t.OpenEUR, t.StaleEUR = crm.Amount(open), crm.Amount(stale)
	return out
}
