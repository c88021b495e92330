package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// Model is a language model. One call of Ask is one call of the provider: an
// implementation does not retry. It is safe for concurrent use.
//
// Errors have a class (see package worker): rate_limited with the provider's
// Retry-After, refused (filtered content), missing_input (the context is too
// long), transient, timeout, fatal (wrong key, unknown model). An answer that
// was cut off, or that the model declined, is no error: see Answer.Stop.
type Model interface {
	// Ask sends a request and gives the model's answer. ctx bounds the call.
	Ask(ctx context.Context, req Request) (Answer, error)
}

// Request is one call of a model.
type Request struct {
	// System holds the instructions. No text of an input stands here.
	System string `json:"system"`
	// Messages are the exchange so far; the first and the last are the user's.
	Messages []Message `json:"messages"`
	// Tools are what the model may call; empty: nothing.
	Tools []Tool `json:"tools,omitempty"`
	// Output is the form of the final answer; nil: free text.
	Output *Form `json:"output,omitempty"`
	// MaxTokens bounds the answer. It is always set.
	MaxTokens int `json:"max_tokens"`
	// Temperature is left to the provider where it is nil.
	Temperature *float64 `json:"temperature,omitempty"`
	// Timeout bounds the call beside the context; 0: the context alone.
	Timeout time.Duration `json:"-"`
}

// Form is the JSON Schema of an answer.
type Form struct {
	// Name is letters, digits, _ and -, at most 64.
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
}

// Role is who wrote a message.
type Role string

// The roles.
const (
	RoleUser  Role = "user"
	RoleModel Role = "model"
)

// Message is one part of an exchange: text, or the model's tool calls, or the
// results of all calls of the message before.
type Message struct {
	Role    Role       `json:"role"`
	Text    string     `json:"text,omitempty"`
	Calls   []ToolCall `json:"calls,omitempty"`
	Results []Returned `json:"results,omitempty"`
}

// Tool is something that a model may call.
type Tool struct {
	// Name is letters, digits, _ and -, at most 64.
	Name string `json:"name"`
	Says string `json:"says"`
	// Input is the JSON Schema of the call's input.
	Input json.RawMessage `json:"input"`
}

// ToolCall is a call that the model asks for.
type ToolCall struct {
	// ID is the provider's, to be given back with the result.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Input is as the model wrote it, not checked: it may be no JSON at all.
	Input string `json:"input"`
}

// Returned is the result of one tool call.
type Returned struct {
	// ID is the call's.
	ID   string `json:"id"`
	Text string `json:"text"`
	// Failed: the call did not give what was asked for; Text says why.
	Failed bool `json:"failed,omitempty"`
}

// Stop is why a model stopped.
type Stop string

// The reasons.
const (
	// StopEnd: the answer is complete.
	StopEnd Stop = "end"
	// StopTools: the model waits for the results of Calls.
	StopTools Stop = "tools"
	// StopLength: the answer was cut off at MaxTokens or at the context's end.
	StopLength Stop = "length"
	// StopFiltered: the provider withheld content.
	StopFiltered Stop = "filtered"
	// StopRefused: the model declined, and said so in the provider's own form.
	StopRefused Stop = "refused"
	// StopMalformed: the provider found the model's own output unusable.
	StopMalformed Stop = "malformed"
)

// Answer is what a model gave: text, or tool calls.
type Answer struct {
	Text  string     `json:"text,omitempty"`
	Calls []ToolCall `json:"calls,omitempty"`
	Stop  Stop       `json:"stop"`
	// Usage counts each token once: Input holds neither those read from a
	// cache nor those written to one. Usage.Model is the model's name as the
	// provider reports it (R56).
	Usage gate.Tokens `json:"usage"`
}

// Digest identifies a request by its content: the hex SHA-256 of its JSON with
// schemas in one spelling. Timeout and the ids of tool calls do not count, so
// that the same exchange has the same digest in every run.
func (r Request) Digest() string {
	r.Messages = append([]Message(nil), r.Messages...)
	names := map[string]string{}
	for i, m := range r.Messages {
		r.Messages[i].Calls = renamed(m.Calls, names)
		results := append([]Returned(nil), m.Results...)
		for n := range results {
			results[n].ID = names[results[n].ID]
		}
		r.Messages[i].Results = results
	}
	r.Tools = append([]Tool(nil), r.Tools...)
	for i := range r.Tools {
		r.Tools[i].Input = oneSpelling(r.Tools[i].Input)
	}
	if r.Output != nil {
		form := *r.Output
		form.Schema = oneSpelling(form.Schema)
		r.Output = &form
	}
	raw, err := json.Marshal(r)
	if err != nil { // only a schema that is no JSON cannot be encoded
		raw = []byte(err.Error())
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// renamed gives calls the ids of their order.
func renamed(calls []ToolCall, names map[string]string) []ToolCall {
	out := append([]ToolCall(nil), calls...)
	for i := range out {
		name := "call-" + strconv.Itoa(len(names)+1)
		names[out[i].ID], out[i].ID = name, name
	}
	return out
}

// oneSpelling sorts the keys of JSON; what is no JSON stays.
func oneSpelling(raw json.RawMessage) json.RawMessage {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return raw
	}
	out, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return out
}
