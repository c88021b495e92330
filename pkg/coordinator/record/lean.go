package record

import (
	"encoding/json"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// A lean record leaves out of its body what can be told from the rest of it: a
// write costs a unit for every KB that the record has.
type lean interface {
	// lean is what is encoded in the record's place.
	lean() any
	// unlean reads a body, a lean or a whole one.
	unlean(body []byte) error
}

func (s *Step) lean() any {
	body := &stepBody{Step: s, Because: s.Because, Output: s.Output.lean(), Input: s.Input.lean(), Override: s.Override.lean()}
	if s.Name != s.Path {
		body.Name = s.Name
	}
	if body.Told = onlyOutcome(s); !body.Told {
		body.Last = leanVerdict(s.LastVerdict)
	}
	if s.Because != "" && s.Because == s.Reason {
		body.Because, body.Same = "", true
	}
	if len(s.Log) > 0 {
		body.Log = make([]entryBody, len(s.Log))
		for i, e := range s.Log {
			body.Log[i] = s.leanEntry(e)
		}
	}
	return body
}

func (s *Step) unlean(body []byte) error {
	read := stepBody{Step: s}
	if err := json.Unmarshal(body, &read); err != nil {
		return err
	}
	s.Name, s.LastVerdict, s.Because = read.Name, read.Last.whole(), read.Because
	if s.Name == "" {
		s.Name = s.Path
	}
	if read.Same {
		s.Because = s.Reason
	}
	if read.Told {
		outcome := s.Outcome
		s.LastVerdict = &gate.Verdict{Note: gate.Note{Outcome: &outcome}}
	}
	s.Output, s.Input, s.Override = read.Output.whole(), read.Input.whole(), read.Override.whole()
	for _, e := range read.Log {
		s.Log = append(s.Log, s.wholeEntry(e))
	}
	return nil
}

// stepBody is how a step is written: fields here stand for those of the same
// name in it. A step without a name of its own is called by its path.
type stepBody struct {
	*Step
	Name    string       `json:"name,omitempty"`
	Last    *verdictBody `json:"last_verdict,omitempty"`
	Because string       `json:"because,omitempty"`

	Output   Value `json:"output,omitzero"`
	Input    Value `json:"input,omitzero"`
	Override Value `json:"override,omitzero"`

	Log []entryBody `json:"log,omitempty"`
	// Same: it is because of the reason. Told: its last verdict was its outcome, nothing else.
	Same bool `json:"same,omitempty"`
	Told bool `json:"told,omitempty"`
}

// entryBody is an entry of a step's log; As says what in it is as the step has it.
type entryBody struct {
	Entry
	As int `json:"as,omitempty"`
}

const (
	asWorker = 1 << iota
	asInput
	asOutput
)

// common is a field of an entry and what the step has of the kind.
type common struct {
	sign  int
	field *string
	have  string
}

func (s *Step) common(e *Entry) [3]common {
	return [3]common{
		{asWorker, &e.Worker, s.Worker}, {asInput, &e.Input, shortHash(s.Input.Hash)}, {asOutput, &e.Output, shortHash(s.Output.Hash)},
	}
}

func (s *Step) leanEntry(e Entry) entryBody {
	body := entryBody{Entry: e}
	for _, c := range s.common(&body.Entry) {
		if *c.field != "" && *c.field == c.have {
			body.As, *c.field = body.As|c.sign, ""
		}
	}
	return body
}

func (s *Step) wholeEntry(body entryBody) Entry {
	for _, c := range s.common(&body.Entry) {
		if body.As&c.sign != 0 {
			*c.field = c.have
		}
	}
	return body.Entry
}

func onlyOutcome(s *Step) bool {
	v := s.LastVerdict
	if v == nil || v.Error != "" || v.Cause != "" || v.Note.Outcome == nil || *v.Note.Outcome != s.Outcome {
		return false
	}
	return v.Note.Label == nil && v.Note.Until == nil && (v.Note.Items == nil || string(v.Note.Items) == "null")
}

// verdictBody is a gate.Verdict without what is null in it.
type verdictBody struct {
	Note struct {
		Outcome *outerloop.Outcome `json:"outcome,omitempty"`
		Label   *string            `json:"label,omitempty"`
		Until   *time.Time         `json:"until,omitempty"`
		Items   json.RawMessage    `json:"items,omitempty"`
	} `json:"note,omitzero"`
	Error string `json:"error,omitempty"`
	Cause string `json:"cause,omitempty"`
}

func leanVerdict(v *gate.Verdict) *verdictBody {
	if v == nil {
		return nil
	}
	out := &verdictBody{Error: v.Error, Cause: v.Cause}
	out.Note.Outcome, out.Note.Label, out.Note.Until = v.Note.Outcome, v.Note.Label, v.Note.Until
	if string(v.Note.Items) != "null" {
		out.Note.Items = v.Note.Items
	}
	return out
}

func (v *verdictBody) whole() *gate.Verdict {
	if v == nil {
		return nil
	}
	return &gate.Verdict{
		Note:  gate.Note{Outcome: v.Note.Outcome, Label: v.Note.Label, Until: v.Note.Until, Items: v.Note.Items},
		Error: v.Error, Cause: v.Cause,
	}
}

func (r *Run) lean() any {
	short := *r
	short.Input, short.Output = r.Input.lean(), r.Output.lean()
	return &short
}

func (r *Run) unlean(body []byte) error {
	err := json.Unmarshal(body, r)
	r.Input, r.Output = r.Input.whole(), r.Output.whole()
	return err
}

func (a *Approval) lean() any {
	short := *a
	short.Content = a.Content.lean()
	return &short
}

func (a *Approval) unlean(body []byte) error {
	err := json.Unmarshal(body, a)
	a.Content = a.Content.whole()
	return err
}

func (f *Fact) lean() any {
	short := *f
	short.Value = f.Value.lean()
	return &short
}

func (f *Fact) unlean(body []byte) error {
	err := json.Unmarshal(body, f)
	f.Value = f.Value.whole()
	return err
}

// lean leaves out the hash and the size of a value that is there itself.
func (v Value) lean() Value {
	if v.Inline == nil || v.Ref != "" || v.Size != len(v.Inline) || !tight(v.Inline) || v.Hash != HashOf(v.Inline) {
		return v // of white space it is written without it
	}
	return Value{Inline: v.Inline}
}

// tight tells whether JSON has no white space between its parts.
func tight(text []byte) bool {
	inString := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case !inString && (c == ' ' || c == '\n' || c == '\t' || c == '\r'):
			return false
		}
	}
	return true
}

func (v Value) whole() Value {
	if v.Inline != nil && v.Hash == "" && v.Ref == "" && v.Size == 0 {
		return Payload(v.Inline)
	}
	return v
}
