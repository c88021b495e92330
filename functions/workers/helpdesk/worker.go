// Package helpdesk is the worker helpdesk: it adds one entry to a ticket, an
// answer to the customer or an assignment to a person.
package helpdesk

import (
	"context"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/outside"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Ticket string `json:"ticket"`
	Type   string `json:"type"`
	Text   string `json:"text"`
	// Day is when the request came, where the loop is at home.
	Day string `json:"day"`
}

// Entry is the entry (schemas/output.json), and the action's result.
type Entry struct {
	Ticket string `json:"ticket"`
	Entry  string `json:"entry"`
	Type   string `json:"type"`
	Text   string `json:"text"`
	Day    string `json:"day"`
}

// The kinds of entries.
const (
	Answer     = "answer"
	Assignment = "assignment"
)

// Connection is where entries are kept, one record each.
const Connection = "helpdesk"

// Worker is helpdesk.
var Worker = worker.New("helpdesk", 1, add, worker.WithVerify(outside.Verify[Entry](Connection)))

func add(ctx context.Context, t worker.Task[Input]) (worker.Result[Entry], error) {
	var res worker.Result[Entry]
	kind, known := map[string]string{"post-answer": Answer, "assign-to-person": Assignment}[t.Action]
	if !known {
		return res, worker.Fatal("the action %q is none of the helpdesk's", t.Action)
	}
	made, evidence, err := outside.Do(ctx, t, Connection, func(worker.Action) (Entry, error) {
		return Entry{t.Input.Ticket, kind, t.Input.Type, t.Input.Text, t.Input.Day}, nil
	})
	if err != nil {
		return res, err
	}
	res.Output, res.Evidence = made, evidence
	res.Confidence, res.Reason = worker.High, "The entry stands at the ticket."
	return res, nil
}
