package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Letter is a message that nobody has answered, as its queue holds it.
type Letter struct {
	// Queue names where it lies, and ID is that queue's own id of it: the same two
	// are the same message.
	Queue, ID string
	// Worker is whose queue it is; empty: that of triggers.
	Worker string
	Body   []byte
	// Receives is how often it was delivered; 0: unknown.
	Receives int
	// Why tells what keeps it from being read, without its content; empty: to be found out.
	Why string
}

// LetterKept is how much of an unreadable message's body its exception keeps,
// in bytes; what is longer is cut there.
const LetterKept = 16 << 10

// classLetter marks the exception of a message that nobody can read.
const classLetter = "unreadable_message"

// Undeliverable takes a message that its queue has given up on, or that nobody
// can read. A delivery of a step is answered as Drain does. Any other becomes one
// exception that keeps its body, less the task token, up to LetterKept bytes; the
// task that waits for its token fails as fatal, and its step's rule decides.
// True: the message may be deleted. False: an attempt still runs, keep it. The
// same message again changes nothing.
func (c *Coordinator) Undeliverable(ctx context.Context, l Letter) (bool, error) {
	d, why := l.delivery()
	if why == "" {
		_, err := c.definitionOf(ctx, d.Run)
		done := false
		if err == nil {
			done, err = c.Drain(ctx, d)
		}
		if !BelongsNowhere(err) {
			return done, err
		}
		why = cut(err.Error(), logText)
	}
	exc, err := c.letterException(ctx, l, d, why)
	if err != nil {
		return false, fmt.Errorf("recording an unreadable message: %w", err)
	}
	c.cfg.Log.ErrorContext(ctx, "a message cannot be read", "queue", l.Queue, "message", l.ID, "exception", exc.ID, "why", why)
	fail := gate.Verdict{Error: outerloop.ErrorFatal, Cause: exc.Cause + "; exception " + exc.ID + " keeps it"}
	return true, c.complete(ctx, l.token(), fail)
}

// delivery reads the body as a step's delivery; why: it is none.
func (l Letter) delivery() (d gate.Delivery, why string) {
	err := json.Unmarshal(l.Body, &d)
	var field *json.UnmarshalTypeError
	switch {
	case l.Why != "":
		return d, l.Why
	case errors.As(err, &field) && field.Field != "":
		return d, "field " + field.Field + " is not of its type"
	case err != nil && !json.Valid(l.Body):
		return d, "it is not JSON"
	case err != nil:
		return d, "it is no delivery"
	case d.Run == "" || d.Step == "":
		return d, "it names no run and step"
	}
	return d, ""
}

// BelongsNowhere tells whether an error of the gate says what no other try of
// the same delivery changes: its run, definition or step is not there or cannot
// be, or is not the worker's who asks.
func BelongsNowhere(err error) bool {
	for _, final := range []error{ErrNoRun, ErrNotAllowed, ErrNoDefinition, store.ErrInvalid} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}

var tokenField = regexp.MustCompile(`("token"\s*:\s*")[^"]*`)

// token is the task token that a body holds, however broken the rest is.
func (l Letter) token() string {
	var fields struct {
		Token string `json:"token"`
	}
	_ = json.Unmarshal(l.Body, &fields) // what can be read is
	return fields.Token
}

// kept is the body as it is kept for people: text, without its token, cut.
func (l Letter) kept() string {
	text := tokenField.ReplaceAllString(strings.ToValidUTF8(string(l.Body), "\uFFFD"), "${1}"+schema.Redacted)
	return cut(text, LetterKept)
}

func (c *Coordinator) letterException(ctx context.Context, l Letter, d gate.Delivery, why string) (*record.Exception, error) {
	id := record.ShortID("letter", l.Queue, l.ID)
	known, err := one(ctx, c, record.ExceptionKey(id), record.DecodeException)
	if err != nil || known != nil {
		return known, err
	}
	exc := &record.Exception{
		ID: id, Class: classLetter, Queue: l.Queue, Body: l.kept(),
		Cause:  "a message in queue " + l.Queue + " cannot be read: " + why,
		Detail: fmt.Sprintf("message %s, %d bytes", l.ID, len(l.Body)),
		Tried:  "nothing: no worker was given it", State: "it is out of its queue; nothing waits for it",
		Needed: "find out who sent it, and do by hand what it was for; then close", Ways: []string{WayClose}, Since: c.now(),
	}
	if len(l.Body) > LetterKept {
		exc.Detail += fmt.Sprintf(", of which the first %d are kept", LetterKept)
	}
	switch {
	case l.Receives == 1:
		exc.Tried = "it was delivered once"
	case l.Receives > 1:
		exc.Tried = fmt.Sprintf("it was delivered %d times", l.Receives)
	}
	if l.token() != "" {
		exc.State = "it is out of its queue; the task that waited for it has failed, and its step's rule decides"
	}
	def, hash, err := c.definitionFor(ctx, d.Run, l.Worker)
	if err != nil {
		return nil, err
	}
	if def != nil {
		exc.Loop, exc.Owner, exc.Definition = def.Loop.Name, def.Loop.Owner, hash
	}
	switch err := c.write(ctx, exc.Put()); {
	case errors.Is(err, store.ErrCondition): // somebody else was quicker
		return exc, nil
	case err != nil:
		return nil, err
	}
	if def != nil {
		c.alert(ctx, exc, def)
	}
	return exc, nil
}

// definitionFor is the definition of a run that there is, else that of a loop in
// which the worker works, else of any loop: whose people are to be asked. nil:
// there is no loop.
func (c *Coordinator) definitionFor(ctx context.Context, run, worker string) (*loop.Definition, string, error) {
	if run != "" {
		def, err := c.definitionOf(ctx, run)
		if err == nil {
			hash, _ := c.pins.get(run)
			return def, hash, nil
		}
		if !BelongsNowhere(err) {
			return nil, "", err
		}
	}
	if c.cfg.Loops == nil {
		return nil, "", nil
	}
	names, err := c.cfg.Loops(ctx)
	var some *loop.Definition
	var of string
	for _, name := range names {
		def, hash, err := c.latest(ctx, name)
		switch {
		case errors.Is(err, ErrNoLoop) || errors.Is(err, ErrNoDefinition):
			continue
		case err != nil:
			return nil, "", err
		case def.Workers[worker] != nil:
			return def, hash, nil
		case some == nil:
			some, of = def, hash
		}
	}
	return some, of, err
}

// definitionOfException is that of its run; of a message that belongs to none,
// that of the loop whose owner was asked, as it was then, else as it is, else of
// any loop. Error: ErrNoDefinition.
func (c *Coordinator) definitionOfException(ctx context.Context, exc *record.Exception) (*loop.Definition, error) {
	if exc.Run != "" {
		return c.definitionOf(ctx, exc.Run)
	}
	if exc.Definition != "" {
		def, err := c.cfg.Definitions.Definition(ctx, exc.Definition)
		if !errors.Is(err, ErrNoDefinition) {
			return def, err
		}
		if def, _, err = c.latest(ctx, exc.Loop); err == nil {
			return def, nil
		}
	}
	def, _, err := c.definitionFor(ctx, "", "")
	if err == nil && def == nil {
		err = ErrNoDefinition
	}
	return def, err
}

// shownBody is what people see of a kept body: with sensitive fields hidden, or
// wholly hidden where it names one and cannot be read.
func (c *Coordinator) shownBody(ctx context.Context, exc *record.Exception) (string, error) {
	if exc.Body == "" || ctx.Value(revealed{}) != nil {
		return exc.Body, nil
	}
	def, err := c.definitionOfException(ctx, exc)
	if errors.Is(err, ErrNoDefinition) {
		return schema.Redacted, nil
	}
	names := sensitiveNames(def)
	if err != nil || !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(exc.Body, name) }) {
		return exc.Body, err
	}
	value, err := parse("kept body", []byte(exc.Body))
	if err != nil {
		return schema.Redacted, nil //nolint:nilerr // nobody can tell where in it the field stands
	}
	value, _ = schema.RedactNamed(value, names)
	out, err := canonical(value)
	return string(out), err
}
