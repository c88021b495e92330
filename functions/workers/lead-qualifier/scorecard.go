package leadqualifier

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/crm"
)

//go:embed scorecard.json
var scorecardFile []byte

// scorecard is the written scorecard: what is asked, and what an answer is worth.
type scorecard struct {
	Approved string `json:"approved"`
	// Required rules a deal out, whatever its score.
	Required struct {
		ContactStatus string  `json:"contact_status"`
		AmountEUR     float64 `json:"amount_eur"`
	} `json:"required"`
	// Qualified and NeedsReview are the lowest scores of these results.
	Qualified   int         `json:"qualified"`
	NeedsReview int         `json:"needs_review"`
	Criteria    []criterion `json:"criteria"`
}

// criterion has exactly one of its four forms.
type criterion struct {
	ID       string `json:"id"`
	Question string `json:"question"`
	// AtLeast and AtMost give the points of the first band that fits.
	AtLeast []struct {
		AmountEUR float64 `json:"amount_eur"`
		Points    int     `json:"points"`
	} `json:"at_least"`
	AtMost []struct {
		IdleDays int `json:"idle_days"`
		Points   int `json:"points"`
	} `json:"at_most"`
	Stages map[string]int `json:"stages"`
	Named  int            `json:"named"`
}

// written is the scorecard of the file. A file that cannot be read is a
// mistake in the program.
var written = func() scorecard {
	var card scorecard
	if err := json.Unmarshal(scorecardFile, &card); err != nil {
		panic(fmt.Sprintf("lead-qualifier: reading scorecard.json: %v", err))
	}
	return card
}()

// answer is what the deal's row says to a criterion, and the column that says it.
func (c criterion) answer(d Deal) (points int, said, column string) {
	switch {
	case c.AtLeast != nil:
		for _, band := range c.AtLeast {
			if d.AmountEUR >= band.AmountEUR {
				points = band.Points
				break
			}
		}
		return points, crm.Money(crm.Cents(d.AmountEUR), "EUR"), crm.ColumnAmount
	case c.AtMost != nil:
		for _, band := range c.AtMost {
			if d.IdleDays <= band.IdleDays {
				points = band.Points
				break
			}
		}
		return points, strconv.Itoa(d.IdleDays) + " days", crm.ColumnActivity
	case c.Stages != nil:
		return c.Stages[d.Stage], d.Stage, crm.ColumnStage
	case d.Contact != "":
		return c.Named, "yes", crm.ColumnContact
	}
	return 0, "no", crm.ColumnContact
}

// of is the most that a criterion can give.
func (c criterion) of() int {
	most := c.Named
	for _, band := range c.AtLeast {
		most = max(most, band.Points)
	}
	for _, band := range c.AtMost {
		most = max(most, band.Points)
	}
	for _, points := range c.Stages {
		most = max(most, points)
	}
	return most
}
