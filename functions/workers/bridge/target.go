package bridge

import (
	"encoding/json"

	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// The kinds of charters whose work is done elsewhere.
const (
	KindHTTP    = "http"
	KindLambda  = "lambda"
	KindCommand = "command"
)

// What is sent (charter's `payload`).
const (
	payloadInput = "input"
	payloadTask  = "task"
)

// Target is where work goes, as the charter that the run has pinned says.
type Target struct {
	// Kind is the charter's.
	Kind string
	// URL is of kind http, Function of kind lambda, Run of kind command.
	URL      string
	Function string
	Run      []string
	// Connection names the connection of kind http; empty: none.
	Connection string
	// Task: the whole task is sent, and a result or a failure answered.
	Task bool
}

// targetOf reads a charter.
func targetOf(charter json.RawMessage) (Target, error) {
	var c struct {
		Kind   string
		Lambda struct{ Function, Payload string }
		HTTP   struct{ URL, Connection, Payload string }
		// Command is the program and its arguments.
		Command struct {
			Run     []string
			Payload string
		}
	}
	if err := json.Unmarshal(charter, &c); err != nil {
		return Target{}, worker.Fatal("reading the charter: %w", err)
	}
	t := Target{Kind: c.Kind, URL: c.HTTP.URL, Function: c.Lambda.Function, Run: c.Command.Run, Connection: c.HTTP.Connection}
	payload := map[string]string{KindHTTP: c.HTTP.Payload, KindLambda: c.Lambda.Payload, KindCommand: c.Command.Payload}[c.Kind]
	switch payload {
	case "", payloadInput:
	case payloadTask:
		t.Task = true
	default:
		return t, worker.Fatal("the charter's payload %q is neither %s nor %s", payload, payloadInput, payloadTask)
	}
	return t, nil
}
