package agent

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// Price is what a model's tokens cost, as of a date, in micro-units of the
// currency per million tokens. The zero Price is unknown, not free.
type Price struct {
	Input, Output int64
	// CacheRead and CacheWrite are nil where the price list does not say: then
	// a token read from a cache costs as much as one sent, and one written to a
	// cache 1.25 times as much, so that nothing is counted too low.
	CacheRead, CacheWrite *int64
	// Currency is the ISO 4217 code.
	Currency string
	// AsOf is the day of the price list, 2026-11-01.
	AsOf string
}

// ErrUnpriced says that a model's price is not known: it is not called.
var ErrUnpriced = errors.New("the model has no price")

const perMillion = 1_000_000

// Known tells whether the price can be used; the error is ErrUnpriced with
// what is missing.
func (p Price) Known() error {
	switch {
	case p.AsOf == "" || p.Currency == "":
		return fmt.Errorf("%w: currency and date of the price list are missing; write price: {input: …, output: …, as_of: …} under models (0.00 for a model that costs nothing)", ErrUnpriced)
	case p.Input < 0 || p.Output < 0 || p.CacheRead != nil && *p.CacheRead < 0 || p.CacheWrite != nil && *p.CacheWrite < 0:
		return fmt.Errorf("%w: an amount is negative", ErrUnpriced)
	case max(p.Input, p.Output) > mostPrice:
		return fmt.Errorf("%w: more than %d.00 %s per million tokens cannot be right", ErrUnpriced, mostPrice/perMillion, p.Currency)
	}
	return nil
}

// mostPrice and mostTokens bound what is multiplied, so that nothing overflows.
const (
	mostPrice  = 1_500_000_000
	mostTokens = 1 << 30
)

// Cost is what tokens cost, in micro-units, rounded up. Negative counts are an
// error: a provider's report is not to be credited.
func (p Price) Cost(used gate.Tokens) (int64, error) {
	if err := p.Known(); err != nil {
		return 0, err
	}
	read, write := p.Input, p.Input+p.Input/4
	if p.CacheRead != nil {
		read = *p.CacheRead
	}
	if p.CacheWrite != nil {
		write = *p.CacheWrite
	}
	var total int64
	for _, part := range []struct{ tokens, price int64 }{
		{used.Input, p.Input}, {used.Output, p.Output}, {used.CacheRead, read}, {used.CacheWrite, write},
	} {
		if part.tokens < 0 || part.tokens > mostTokens {
			return 0, fmt.Errorf("pricing tokens: a count of %d cannot be right", part.tokens)
		}
		total += part.tokens * part.price
	}
	return (total + perMillion - 1) / perMillion, nil
}

// estimated is the most that a request can use: all that is sent, uncached, and
// an answer as long as allowed.
func estimated(req Request) gate.Tokens {
	return gate.Tokens{Input: int64(sizeOf(sentBytes(req)).Tokens), Output: int64(req.MaxTokens)}
}

// sentBytes is the size of all texts of a request.
func sentBytes(req Request) int {
	bytes := len(req.System)
	for _, m := range req.Messages {
		bytes += len(m.Text)
		for _, c := range m.Calls {
			bytes += len(c.Name) + len(c.Input)
		}
		for _, r := range m.Results {
			bytes += len(r.Text)
		}
	}
	for _, t := range req.Tools {
		bytes += len(t.Name) + len(t.Says) + len(t.Input)
	}
	if req.Output != nil {
		bytes += len(req.Output.Schema)
	}
	return bytes
}

// Slack of what a call can use at most: templates and tool descriptions that a
// provider adds to what is sent, and reasoning that it bills beside the answer.
const (
	addedTokens     = 1 << 14
	reasoningTokens = 1 << 17
)

// usage is what a call used: as reported, or the estimate where the report is
// missing or cannot be: negative, more tokens than bytes were sent, nothing for
// an answer. So a provider's report is neither credited nor able to use up a
// budget, and a name it gives to its model stays short.
func usage(req Request, answer Answer) (used gate.Tokens, guessed bool) {
	u := answer.Usage
	u.Model = printable(u.Model, longestName)
	sent := int64(sentBytes(req) + addedTokens)
	spoke := answer.Text != "" || len(answer.Calls) > 0
	switch {
	case min(u.Input, u.Output, u.CacheRead, u.CacheWrite) < 0,
		max(u.Input, u.CacheRead, u.CacheWrite) > sent, u.Input+u.CacheRead+u.CacheWrite > sent,
		u.Output > int64(req.MaxTokens)+reasoningTokens,
		u.Input+u.CacheRead+u.CacheWrite == 0, u.Output == 0 && spoke:
		used = estimated(req)
		used.Model = u.Model
		return used, true
	}
	return u, false
}

// longestName bounds names that come from outside, in bytes.
const longestName = 200

// printable is a text from outside, cut, without what no terminal prints.
func printable(text string, limit int) string {
	if len(text) > limit {
		text = text[:limit]
	}
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
}

// Estimate is the most that a call can cost, in micro-units.
func (p Price) Estimate(req Request) (int64, error) { return p.Cost(estimated(req)) }

// sum adds the usage of two calls; the model is the later's.
func sum(a, b gate.Tokens) gate.Tokens {
	out := gate.Tokens{
		Input: a.Input + b.Input, Output: a.Output + b.Output,
		CacheRead: a.CacheRead + b.CacheRead, CacheWrite: a.CacheWrite + b.CacheWrite, Model: b.Model,
	}
	if out.Model == "" {
		out.Model = a.Model
	}
	return out
}
