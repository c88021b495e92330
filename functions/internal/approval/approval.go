// Package approval is the function behind the coordinator's own states of a
// machine ({"op": …}: an approval registers, a failed step's rule is asked, a
// block begins, a sub-loop starts, a run finishes) and behind what people
// decide ({"use": …}).
package approval

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/core"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
)

// Config is what the function is made of; Step is required.
type Config struct {
	// Step serves the machines' states.
	Step func(ctx context.Context, op json.RawMessage) (json.RawMessage, error)
	// Uses serves people's use cases.
	Uses func(ctx context.Context, use json.RawMessage) (json.RawMessage, error)
	Log  *slog.Logger
}

// Function serves both.
type Function struct{ cfg Config }

// New makes the function.
func New(cfg Config) *Function {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Function{cfg}
}

// Open makes it of a function's surroundings.
func Open(_ context.Context, f *boot.Function) (boot.Handler, error) {
	c, err := core.Open(f)
	if err != nil {
		return nil, err
	}
	uses := remote.Of(c.Coordinator).Only(remote.UseDecide, remote.UseResolve, remote.UseCancel, remote.UseRedrive,
		remote.UseRollback, remote.UsePause, remote.UseResume, remote.UsePrune, remote.UseStage, remote.UseDid)
	return New(Config{Step: c.Step, Uses: uses.Serve, Log: f.Log}).Handle, nil
}

// unanswered is the error that machines try again for: the function could not
// do its work at all.
const unanswered = "Lambda.ServiceException"

// Handle serves one event. A state's error has the name that its machine knows.
func (f *Function) Handle(ctx context.Context, event json.RawMessage) (any, error) {
	var which struct {
		Op  string `json:"op"`
		Use string `json:"use"`
		Run string `json:"run"`
	}
	if err := json.Unmarshal(event, &which); err != nil {
		return nil, boot.Named(outerloop.ErrorFatal, "the event is no JSON object")
	}
	if which.Op == "" && which.Use != "" && f.cfg.Uses != nil {
		return f.cfg.Uses(ctx, event)
	}
	answer, err := f.cfg.Step(ctx, event)
	var named *coordinator.StepError
	switch {
	case errors.As(err, &named):
		return nil, boot.Named(named.Name, named.Cause)
	case err != nil:
		f.cfg.Log.ErrorContext(ctx, "a state got no answer", "op", which.Op, "run", which.Run, "error", err)
		return nil, boot.Named(unanswered, err.Error())
	}
	return answer, nil
}
