package bridge

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// What the other side is asked to do.
const (
	doWork   = "work"
	doVerify = "verify"
)

// Document is what the other side gets with `payload: task`.
type Document struct {
	// Do is "work", or "verify": what became of the action?
	Do       string                     `json:"do"`
	Run      string                     `json:"run"`
	Loop     string                     `json:"loop"`
	Subject  string                     `json:"subject"`
	Step     string                     `json:"step"`
	Item     string                     `json:"item"`
	Visit    int                        `json:"visit"`
	Attempt  int                        `json:"attempt"`
	Worker   string                     `json:"worker"`
	AsOf     time.Time                  `json:"as_of"`
	Deadline time.Time                  `json:"deadline"`
	Input    json.RawMessage            `json:"input"`
	Facts    map[string]json.RawMessage `json:"facts,omitempty"`
	Feedback []gate.Feedback            `json:"feedback,omitempty"`
	Handoff  json.RawMessage            `json:"handoff,omitempty"`
	// Files are the contents of file inputs by property, in base64.
	Files map[string]string `json:"files,omitempty"`
	// Budget is what is left for this step, in micro-units of the run's currency.
	Budget int64 `json:"budget,omitempty"`
	// Action is the business action that the work is; absent: none.
	Action *ActionDocument `json:"action,omitempty"`
}

// ActionDocument names an action.
type ActionDocument struct {
	Name string `json:"name"`
	// Entry is the action log entry, Key the idempotency key for the provider.
	Entry string `json:"entry"`
	Key   string `json:"key"`
	// Until is when the call must have ended.
	Until *time.Time `json:"until,omitempty"`
}

func documentOf(t gate.Task) Document {
	return Document{
		Do: doWork, Run: t.Run, Loop: t.Loop, Subject: t.Subject, Step: t.Step, Item: t.Item, Visit: t.Visit, Attempt: t.Attempt,
		Worker: t.Worker, AsOf: t.AsOf, Deadline: t.Deadline, Input: t.Input, Facts: t.Facts, Feedback: t.Feedback, Handoff: t.Handoff, Budget: t.Budget,
	}
}

func (d *Document) act(a *worker.Action) {
	if a != nil {
		d.Action = &ActionDocument{Name: a.Name, Entry: a.Entry, Key: a.ProviderKey, Until: &a.Until}
	}
}

// maxFiles bounds the files that go along, in bytes before base64: an
// invocation of Lambda carries 6 MB.
const maxFiles = 4_000_000

// files are the contents of a task's file inputs.
func files(ctx context.Context, t Task) (map[string]string, error) {
	if len(t.Files) == 0 {
		return nil, nil
	}
	out, left := map[string]string{}, int64(maxFiles)
	for property := range t.Files {
		content, err := file(ctx, t, property, left)
		if err != nil {
			return nil, err
		}
		left -= int64(len(content))
		out[property] = base64.StdEncoding.EncodeToString(content)
	}
	return out, nil
}

func file(ctx context.Context, t Task, property string, left int64) ([]byte, error) {
	f, err := t.File(ctx, property)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if f.Size() > left {
		return nil, worker.MissingInput("the files of the input have over %d bytes, more than go along with a task; file %q alone has %d", maxFiles, property, f.Size())
	}
	content, err := io.ReadAll(worker.Reader(f))
	if err != nil {
		return nil, worker.Transient("reading file %q: %w", property, err)
	}
	return content, nil
}

// About is what is told beside the body. Key is an idempotency key: the action's,
// else one that all attempts at this piece of work have in common.
type About struct {
	Run, Loop, Step, Item, Worker string
	Visit, Attempt                int
	AsOf, Deadline                time.Time
	Action, Key                   string
}

func aboutOf(t gate.Task) About {
	return About{
		Run: t.Run, Loop: t.Loop, Step: t.Step, Item: t.Item, Worker: t.Worker, Visit: t.Visit, Attempt: t.Attempt, AsOf: t.AsOf, Deadline: t.Deadline,
		Key: strings.Join([]string{t.Run, t.Item + t.Step, strconv.Itoa(t.Visit)}, "/"),
	}
}

// Pairs are names and values, in order; the names are words with hyphens, such
// as Outerloop-As-Of. Empty ones are left out.
func (a About) Pairs() [][2]string {
	stamp := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339)
	}
	all := [][2]string{
		{"Outerloop-Run", a.Run}, {"Outerloop-Loop", a.Loop}, {"Outerloop-Step", a.Step}, {"Outerloop-Item", a.Item}, {"Outerloop-Worker", a.Worker},
		{"Outerloop-Visit", strconv.Itoa(a.Visit)}, {"Outerloop-Attempt", strconv.Itoa(a.Attempt)},
		{"Outerloop-As-Of", stamp(a.AsOf)}, {"Outerloop-Deadline", stamp(a.Deadline)}, {"Outerloop-Action", a.Action}, {"Idempotency-Key", a.Key},
	}
	var out [][2]string
	for _, pair := range all {
		if pair[1] != "" {
			out = append(out, pair)
		}
	}
	return out
}

// Answer is what the other side says with `payload: task`: Output and what
// belongs to it, or Failure.
type Answer struct {
	Output     json.RawMessage      `json:"output,omitempty"`
	Confidence outerloop.Confidence `json:"confidence,omitempty"`
	Reason     string               `json:"reason,omitempty"`
	Evidence   []gate.Evidence      `json:"evidence,omitempty"`
	Decisions  []string             `json:"decisions,omitempty"`
	Unresolved []string             `json:"unresolved,omitempty"`
	Tokens     gate.Tokens          `json:"tokens,omitzero"`
	// Cost is in micro-units of the budget's currency (1 USD = 1,000,000).
	Cost    int64    `json:"cost,omitempty"`
	Failure *Failure `json:"failure,omitempty"`
}

// Failure is a failure as the other side classes it.
type Failure struct {
	Class   outerloop.Class `json:"class"`
	Message string          `json:"message"`
	// RetryAfter is as the HTTP header: seconds, or a date.
	RetryAfter string `json:"retry_after,omitempty"`
	// NotDone: the action's effect certainly does not exist.
	NotDone bool `json:"not_done,omitempty"`
}

func (a Answer) result() worker.Result[json.RawMessage] {
	return worker.Result[json.RawMessage]{
		Output: a.Output, Confidence: a.Confidence, Reason: a.Reason, Evidence: a.Evidence, Decisions: a.Decisions,
		Unresolved: a.Unresolved, Tokens: a.Tokens, Cost: a.Cost,
	}
}

// read reads an answer. One that cannot be read says nothing about what was done.
func read(raw []byte, task bool) (Answer, error) {
	if !task {
		if !json.Valid(raw) {
			return Answer{}, worker.InvalidOutput("the answer is no JSON: %d bytes", len(raw))
		}
		return Answer{Output: raw}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var answer Answer
	if err := dec.Decode(&answer); err != nil {
		return Answer{}, worker.InvalidOutput("reading the answer: %w", err)
	}
	if answer.Failure != nil {
		return Answer{Tokens: answer.Tokens, Cost: answer.Cost}, answer.Failure.err()
	}
	if answer.Output == nil {
		return Answer{}, worker.InvalidOutput("reading the answer: %w", errNoOutput)
	}
	return answer, nil
}

func (f *Failure) err() error {
	err := Classed(f.Class, f.Message)
	if f.Class == outerloop.ClassRateLimited {
		err = worker.RateLimited(worker.RetryAfter(f.RetryAfter, time.Now()), "%s", f.Message)
	}
	if f.NotDone {
		err = worker.NotDone(err)
	}
	return err
}

// Classed is an error of a class by its name; an unknown one is fatal. Unlike
// worker's constructors it says of none that nothing was done, but of refused.
func Classed(class outerloop.Class, message string) error {
	if class == outerloop.ClassRefused {
		return worker.Refused("%s", message)
	}
	if !class.Valid() {
		class, message = outerloop.ClassFatal, "failure of the unknown class "+strconv.Quote(string(class))+": "+message
	}
	return fmt.Errorf("%s (%w)", message, &worker.Error{Class: class})
}
