// Package ticketclassifier is the worker ticket-classifier: it says by written
// word lists (words.json) what a request is about, how its writer feels and what
// it could cost. Where the words do not decide, it says so.
package ticketclassifier

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/answer"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Text string `json:"text"`
}

// Output is what the request is (schemas/output.json).
type Output struct {
	Type      string `json:"type"`
	Sentiment string `json:"sentiment"`
	Risk      string `json:"risk"`
	Urgency   string `json:"urgency"`
}

// Worker is ticket-classifier.
var Worker = worker.New("ticket-classifier", 1, classify)

//go:embed words.json
var wordsFile []byte

// lists are the word lists; a list is read in lower case.
type lists struct {
	Billing, Technical, General []string
	Negative, Positive          []string
	Critical, High, Medium      []string
	Urgent                      []string
}

// written is the file. One that cannot be read is a mistake in the program.
var written = func() lists {
	var l lists
	if err := json.Unmarshal(wordsFile, &l); err != nil {
		panic(fmt.Sprintf("ticket-classifier: reading words.json: %v", err))
	}
	return l
}()

func classify(_ context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	text := answer.Plain(t.Input.Text)
	c := classifier{text: text, res: &res}
	c.kind()
	res.Output.Sentiment = "neutral"
	switch bad, good := c.found("negative", written.Negative), c.found("positive", written.Positive); {
	case bad > good:
		res.Output.Sentiment = "negative"
	case good > bad:
		res.Output.Sentiment = "positive"
	}
	res.Output.Risk = "low"
	for _, level := range []struct {
		name  string
		words []string
	}{{"critical", written.Critical}, {"high", written.High}, {"medium", written.Medium}} {
		if c.found(level.name+" risk", level.words) > 0 {
			res.Output.Risk = level.name
			break
		}
	}
	res.Output.Urgency = "normal"
	if c.found("urgent", written.Urgent) > 0 {
		res.Output.Urgency = "high"
	}
	if len(res.Evidence) == 0 {
		res.Evidence = []worker.Evidence{{Claim: "No word of any list occurs", Source: "input.text"}}
	}
	return res, nil
}

type classifier struct {
	text string
	res  *worker.Result[Output]
}

// found counts the words of a list in the text, and keeps them as evidence.
func (c *classifier) found(what string, words []string) int {
	hits := answer.Words(c.text, words)
	if len(hits) > 0 {
		c.res.Evidence = append(c.res.Evidence, worker.Evidence{Claim: what + ": " + strings.Join(hits, ", "), Source: "input.text"})
	}
	return len(hits)
}

// kind decides for the list with the most words. A tie, or no word at all, is
// for a person to decide.
func (c *classifier) kind() {
	counts := []struct {
		name string
		n    int
	}{{"billing", c.found("billing", written.Billing)}, {"technical", c.found("technical", written.Technical)}, {"general", c.found("general", written.General)}}
	best, second := 0, 0
	c.res.Output.Type = "general"
	for _, count := range counts {
		switch {
		case count.n > best:
			best, second, c.res.Output.Type = count.n, best, count.name
		case count.n > second:
			second = count.n
		}
	}
	switch {
	case best == 0:
		c.res.Confidence, c.res.Reason = worker.Low, "No word says what it is about."
	case best == second:
		c.res.Confidence, c.res.Reason = worker.Medium, "The words point both ways."
	default:
		c.res.Confidence, c.res.Reason = worker.High, fmt.Sprintf("%d words against %d.", best, second)
	}
}
