// Package mailer is the worker mailer: it sends one mail to one contact, once.
// The mail's Message-ID comes from the action's provider key, so that a mail of
// unknown outcome can be found again (Verify).
//
// Its connection "mail" is of kind outbox, where mails are files in a directory,
// or of one that sends. Like a mail server, an outbox takes every mail it is
// given; that nothing is sent twice is the work of the action log and of Verify.
package mailer

import (
	"context"
	"errors"
	"net/mail"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/directory"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	To      string `json:"to"`
	Subject string `json:"subject"`
	Body    string `json:"body"`
}

// Output is the delivery (schemas/output.json), and the action's result.
type Output struct {
	// MessageID is the mail's Message-ID, in angle brackets.
	MessageID string `json:"message_id"`
	To        string `json:"to"`
}

// Worker is mailer.
var Worker = worker.New("mailer", 1, send, worker.WithVerify(Verify))

// Connection is the name of the connection that mails go to. Its kind is outbox,
// or one that sends, as ses; its setting from is the sender.
const Connection = "mail"

// defaultFrom is the sender of an outbox whose configuration names none.
const defaultFrom = "Follow-up <outbox@localhost>"

func send(ctx context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	box, err := open(t.Connection(Connection))
	if err != nil {
		return res, err
	}
	if t.Action == "" {
		return res, worker.Fatal("the step declares no action, and a mail is one")
	}
	done, err := t.Do(ctx, t.Action, t.Input, func(ctx context.Context, a worker.Action) (any, error) {
		letter, err := box.compose(t.Input, a.ProviderKey, t.AsOf)
		if err != nil {
			return nil, worker.NotDone(worker.MissingInput("writing the mail: %w", err))
		}
		id, err := box.put(ctx, letter)
		var classed *worker.Error
		switch {
		case errors.As(err, &classed):
			return nil, err
		case errors.Is(err, worker.ErrNotCreated):
			return nil, worker.NotDone(worker.Transient("%w", err))
		case err != nil:
			return nil, worker.Transient("%w", err)
		}
		return Output{id, letter.to}, nil
	})
	if err != nil {
		return res, err
	}
	if err := done.Decode(&res.Output); err != nil {
		return res, err
	}
	res.Confidence, res.Reason = worker.High, box.says()
	if done.Repeated {
		res.Decisions = []string{"The mail had been sent before; nothing was sent now."}
	}
	res.Evidence = []worker.Evidence{{Claim: "One mail with Message-ID " + res.Output.MessageID, Source: "action:" + done.Entry}}
	return res, nil
}

// Verify looks for the mail of an action in the outbox, by its Message-ID. A
// mail service cannot be asked: a person says whether the mail went out.
func Verify(ctx context.Context, req worker.VerifyRequest) (worker.Verification, error) {
	box, err := open(req.Connection(Connection))
	if err != nil {
		return worker.Verification{}, err
	}
	if box.service != nil {
		return worker.Verification{Finding: worker.Unsure}, nil
	}
	to, err := recipient(req.Payload)
	if err != nil {
		return worker.Verification{}, err
	}
	id := box.messageID(req.ProviderKey)
	found, err := box.holds(ctx, to, id)
	if err != nil {
		return worker.Verification{}, worker.Transient("looking for %s: %w", id, err)
	}
	if !found {
		return worker.Verification{Finding: worker.NotFound}, nil
	}
	return worker.Verification{Finding: worker.Found, Result: Output{id, to}}, nil
}

func open(c worker.Connection, err error) (outbox, error) {
	box := outbox{service: c.Mail}
	switch {
	case err != nil:
		return outbox{}, err
	case c.Mail == nil:
		if box.files, err = directory.Of(c, err, "outbox"); err != nil {
			return outbox{}, err
		}
	case c.Setting("from", "") == "":
		return outbox{}, worker.Fatal("connection %q sends mail and names no sender (from)", c.Name)
	}
	if box.from, err = mail.ParseAddress(c.Setting("from", defaultFrom)); err != nil {
		return outbox{}, worker.Fatal("connection %q: the sender %q is not an address", c.Name, c.Setting("from", defaultFrom))
	}
	return box, nil
}

// says is why a mail that was handed over is there.
func (b outbox) says() string {
	if b.service != nil {
		return "The mail service took the mail."
	}
	return "The outbox holds the mail."
}
