package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/functions/internal/console"
	api "github.com/outerloop-dev/outerloop/pkg/console"
	"github.com/outerloop-dev/outerloop/pkg/console/client"
	"github.com/outerloop-dev/outerloop/pkg/console/invoke"
	"github.com/outerloop-dev/outerloop/pkg/console/payload"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
)

// called is a function that notes what it is asked and answers by script.
type called struct {
	uses   []string
	again  []string
	answer func(call remote.Call) ([]byte, error)
}

func (c *called) call(_ context.Context, event []byte, repeatable bool) ([]byte, error) {
	var asked remote.Call
	if err := json.Unmarshal(event, &asked); err != nil {
		return nil, err
	}
	c.uses = append(c.uses, asked.Use)
	if repeatable {
		c.again = append(c.again, asked.Use)
	}
	return c.answer(asked)
}

// answers serves any use with one value or one error.
func answers(v any, failure error) func(remote.Call) ([]byte, error) {
	return func(call remote.Call) ([]byte, error) {
		uses := remote.Uses{call.Use: func(context.Context, json.RawMessage) (any, error) { return v, failure }}
		return uses.Serve(context.Background(), must(remote.Encode(call)))
	}
}

func must(raw json.RawMessage, err error) json.RawMessage {
	if err != nil {
		panic(err)
	}
	return raw
}

// opened is a client of the function, and the functions that it hands writes to.
func opened(answer func(remote.Call) ([]byte, error)) (c *client.Client, approval, trigger *called) {
	approval, trigger = &called{answer: answer}, &called{answer: answer}
	handle := console.New(api.Config{Forward: console.Forward{Approval: approval.call, Trigger: trigger.call}})
	return client.New("http://c", payload.Transport{Invoke: func(ctx context.Context, event []byte, _ bool) ([]byte, error) {
		answer, err := handle(ctx, event)
		if err != nil {
			return nil, err
		}
		return json.Marshal(answer)
	}}), approval, trigger
}

// Each use goes to the function that does it, and only what may be done twice
// may be tried twice.
func TestWritesAreHandedOn(t *testing.T) {
	t.Parallel()
	c, approval, trigger := opened(answers(map[string]string{"id": "x", "run": "x"}, nil))
	ctx := t.Context()
	me := coordinator.PersonRequest{Run: "r", By: "a@example.com", Reason: "r"}
	_, err1 := c.Decide(ctx, coordinator.DecideRequest{Approval: "a", Verdict: coordinator.Approve})
	_, err2 := c.Resolve(ctx, coordinator.ResolveRequest{Exception: "e", Way: coordinator.WayRetry})
	_, err3 := c.Cancel(ctx, me)
	_, err4 := c.Redrive(ctx, me)
	_, err5 := c.Rollback(ctx, me)
	_, err6 := c.Prune(ctx, coordinator.Retention{})
	_, err7 := c.Start(ctx, coordinator.StartRequest{Loop: "l"})
	_, err8 := c.Publish(ctx, coordinator.PublishRequest{Event: "e"})
	_, err9 := c.PutBlob(ctx, []byte("x"))
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8, err9, c.Pause(ctx, "l"), c.Resume(ctx, "l")); err != nil {
		t.Fatal(err)
	}
	if want := []string{"decide", "resolve", "cancel", "redrive", "rollback", "prune", "pause", "resume"}; !slices.Equal(approval.uses, want) {
		t.Errorf("approval does %v", approval.uses)
	}
	if want := []string{"start", "publish", "blob"}; !slices.Equal(trigger.uses, want) {
		t.Errorf("trigger does %v", trigger.uses)
	}
	if want := []string{"cancel", "prune", "pause", "resume"}; !slices.Equal(approval.again, want) {
		t.Errorf("of approval's, %v may be tried again", approval.again)
	}
	if want := []string{"start", "blob"}; !slices.Equal(trigger.again, want) {
		t.Errorf("of trigger's, %v may be tried again", trigger.again)
	}
}

// What went wrong two functions away is what the caller is told, with its fields;
// and no answer is not mistaken for a refusal.
func TestErrorsOfTheFunctionsBehind(t *testing.T) {
	t.Parallel()
	decided := &coordinator.DecidedError{ID: "a", Decision: "approved", By: "lead", At: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)}
	for name, c := range map[string]struct {
		answer func(remote.Call) ([]byte, error)
		is     error
	}{
		"decided": {answers(nil, fmt.Errorf("deciding a: %w", decided)), coordinator.ErrDecided},
		"failed": {func(remote.Call) ([]byte, error) {
			return nil, fmt.Errorf("%w, %w", invoke.ErrFailed, remote.ErrUnknown)
		}, remote.ErrUnknown},
		"throttled": {func(remote.Call) ([]byte, error) { return nil, remote.ErrBusy }, remote.ErrBusy},
		"garbage":   {func(remote.Call) ([]byte, error) { return []byte("<html>"), nil }, remote.ErrUnknown},
	} {
		from, _, _ := opened(c.answer)
		_, err := from.Decide(t.Context(), coordinator.DecideRequest{Approval: "a", Verdict: coordinator.Approve, By: "me"})
		if !errors.Is(err, c.is) {
			t.Errorf("%s: %v", name, err)
		}
		var typed *coordinator.DecidedError
		if c.is == coordinator.ErrDecided && (!errors.As(err, &typed) || *typed != *decided || err.Error() != "deciding a: "+decided.Error()) { //nolint:errorlint // the table's own value
			t.Errorf("%s arrives as %v", name, err)
		}
	}
}
