package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Work is a whole, valid answer.
type Work struct {
	Output     json.RawMessage      `json:"output"`
	Confidence outerloop.Confidence `json:"confidence"`
	Reason     string               `json:"reason"`
	Evidence   []gate.Evidence      `json:"evidence"`
	Decisions  []string             `json:"decisions"`
	Unresolved []string             `json:"unresolved"`
}

// Reading is how an answer was read: what was repaired and which values were
// read as the type that the schema asks for. It holds no data of the answer.
type Reading struct {
	Repairs   []Repair
	Coercions []schema.Coercion
}

// InvalidAnswerError says what is wrong with a model's answer, in words that
// the model can use and that quote nothing of the answer.
type InvalidAnswerError struct{ Faults []schema.Fault }

// Error lists the faults.
func (e *InvalidAnswerError) Error() string {
	lines := make([]string, 0, len(e.Faults))
	for _, f := range e.Faults {
		lines = append(lines, f.String())
	}
	return "the answer is not valid: " + strings.Join(lines, "; ")
}

// answerLimit is the longest answer that is read, in bytes.
const answerLimit = 1 << 20

// Read reads a model's answer: strictly; then, if it is no JSON, after one
// repair of what stands around it; then by the form's schema, where values in
// quotes become numbers if the schema allows nothing else. The answer is
// accepted whole or not at all. Errors are of class invalid_output and hold an
// *InvalidAnswerError, or of class refused.
func (f *AnswerForm) Read(answer Answer) (Work, Reading, error) {
	if err := complete(answer); err != nil {
		return Work{}, Reading{}, err
	}
	raw, repairs, faults := document(answer.Text)
	reading := Reading{Repairs: repairs}
	if len(faults) > 0 {
		return Work{}, reading, invalid(faults...)
	}
	raw, reading.Coercions, faults = f.schema.Coerce(raw)
	if len(faults) > 0 {
		return Work{}, reading, invalid(faults...)
	}
	if _, faults = f.schema.Check(raw); len(faults) > 0 {
		return Work{}, reading, invalid(faults...)
	}
	var work Work
	if err := json.Unmarshal(raw, &work); err != nil { // valid by the schema, so it decodes
		return Work{}, reading, invalid(schema.Fault{Keyword: "json", Message: err.Error()})
	}
	return work, reading, nil
}

// complete refuses answers that the provider itself says are none.
func complete(answer Answer) error {
	switch answer.Stop {
	case StopFiltered:
		return worker.Refused("the provider withheld the answer (content filter)")
	case StopRefused:
		return worker.Refused("the model declined to answer")
	case StopLength:
		return invalid(schema.Fault{Keyword: "json", Message: "was cut off because it reached the limit of tokens; answer more briefly"})
	case StopMalformed:
		return invalid(schema.Fault{Keyword: "json", Message: "was not usable, as the provider found; give one JSON object"})
	}
	return nil
}

func invalid(faults ...schema.Fault) error {
	return worker.InvalidOutput("%w", &InvalidAnswerError{Faults: faults})
}

// Faults gives what is wrong with an answer, if err says so.
func Faults(err error) []schema.Fault {
	var e *InvalidAnswerError
	if errors.As(err, &e) {
		return e.Faults
	}
	return nil
}

// document finds the one JSON document of a message.
func document(text string) (json.RawMessage, []Repair, []schema.Fault) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\uFEFF"))
	switch {
	case text == "":
		return nil, nil, fault("is empty; give one JSON object")
	case len(text) > answerLimit:
		return nil, nil, fault(fmt.Sprintf("is longer than %d bytes", answerLimit))
	}
	_, faults := schema.Decode([]byte(text))
	if len(faults) == 0 {
		return json.RawMessage(text), nil, nil
	}
	var repairs []Repair
	text, left := withoutReasoning(text)
	if left {
		repairs = append(repairs, RepairReasoning)
	}
	if inner, ok := unfenced(text); ok {
		text, repairs = inner, append(repairs, RepairFence)
	}
	if text != "" && text[0] == '{' || len(repairs) > 0 {
		if raw, more, found := strict(text); found {
			return raw, append(repairs, more...), nil
		}
	}
	return extracted(text, repairs)
}

// strict reads a text that should be JSON as it stands, or with typographic
// quotes in all places.
func strict(text string) (json.RawMessage, []Repair, bool) {
	if _, faults := schema.Decode([]byte(text)); len(faults) == 0 {
		return json.RawMessage(text), nil, true
	}
	straight, changed := straightened(text)
	if !changed {
		return nil, nil, false
	}
	if _, faults := schema.Decode([]byte(straight)); len(faults) > 0 {
		return nil, nil, false
	}
	return json.RawMessage(straight), []Repair{RepairQuotes}, true
}

// extracted is the one bounded repair of a message with text around its JSON:
// exactly one complete object must stand in it. Anything that begins and does
// not end, or a second object, makes it invalid, so that a part is never taken
// for the whole.
func extracted(text string, repairs []Repair) (json.RawMessage, []Repair, []schema.Fault) {
	var found []json.RawMessage
	var quotes []Repair
	around, stray := groups(withoutOtherFences(text))
	if stray {
		return nil, repairs, fault("ends a JSON object that it does not begin; give one whole object")
	}
	for _, g := range around {
		switch raw, more, ok := strict(g.text); {
		case !strings.Contains(g.text, "{"): // a note such as [1]
		case g.open:
			return nil, repairs, fault("is cut off: a JSON object begins and does not end")
		case ok:
			found, quotes = append(found, raw), append(quotes, more...)
		case g.looksLikeJSON():
			_, faults := schema.Decode([]byte(g.text))
			return nil, repairs, faults
		}
	}
	switch len(found) {
	case 0:
		return nil, repairs, fault("holds no JSON object; answer with one JSON object and nothing else")
	case 1:
		return found[0], append(append(repairs, quotes...), RepairProse), nil
	}
	return nil, repairs, fault(fmt.Sprintf("holds %d JSON documents; give one object and nothing else", len(found)))
}

func fault(message string) []schema.Fault {
	return []schema.Fault{{Keyword: "json", Message: message}}
}
