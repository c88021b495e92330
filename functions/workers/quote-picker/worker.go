// Package quotepicker is the worker quote-picker: it takes the better of two
// offers. Of one offer alone, or of two that are far apart, it is not sure.
package quotepicker

import (
	"context"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	First  Offer `json:"first"`
	Second Offer `json:"second"`
}

// Offer is what a supplier asks; a total below zero is none.
type Offer struct {
	Qty   int     `json:"qty"`
	Total float64 `json:"total"`
	Days  int     `json:"days"`
}

func (o Offer) made() bool { return o.Total >= 0 && o.Qty > 0 }

func (o Offer) each() float64 { return o.Total / float64(o.Qty) }

// Output is the better offer (schemas/output.json).
type Output struct {
	Supplier string  `json:"supplier"`
	Qty      int     `json:"qty"`
	Total    float64 `json:"total"`
	Days     int     `json:"days"`
	Because  string  `json:"because"`
}

// Worker is quote-picker.
var Worker = worker.New("quote-picker", 1, pick)

const (
	// apart is from which factor on two prices make it doubt one of them.
	apart = 1.5
	// near is up to which factor the faster delivery decides.
	near = 1.02
)

func pick(_ context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	a, b := t.Input.First, t.Input.Second
	if !a.made() && !b.made() {
		return res, worker.MissingInput("there is no offer")
	}
	res.Output = better(a, b)
	res.Evidence = []worker.Evidence{{Claim: res.Output.Because, Source: "input.first"}, {Claim: res.Output.Because, Source: "input.second"}}
	switch {
	case !a.made() || !b.made():
		res.Confidence, res.Reason = worker.Low, "There is one offer and nothing to compare it with."
	case max(a.each(), b.each()) > apart*min(a.each(), b.each()):
		res.Confidence, res.Reason = worker.Low, "The offers are so far apart that one of them may be wrong."
	default:
		res.Confidence, res.Reason = worker.High, "Two offers were compared."
	}
	return res, nil
}

func better(a, b Offer) Output {
	first := func(why string) Output { return Output{"supplier-a", a.Qty, a.Total, a.Days, why} }
	second := func(why string) Output { return Output{"supplier-b", b.Qty, b.Total, b.Days, why} }
	switch {
	case !b.made():
		return first("the only offer")
	case !a.made():
		return second("the only offer")
	}
	low, high := min(a.each(), b.each()), max(a.each(), b.each())
	faster := high <= near*low && a.Days != b.Days
	why := fmt.Sprintf("%.2f against %.2f EUR each", a.each(), b.each())
	if faster {
		why = fmt.Sprintf("as dear, and there in %d against %d days", a.Days, b.Days)
	}
	if faster && a.Days < b.Days || !faster && a.each() <= b.each() {
		return first(why)
	}
	return second(why)
}
