// Package console is the function of the console's API: it reads the shared
// state and has no right to write it; what people decide, it hands on to the
// functions of approvals and triggers.
package console

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/core"
	api "github.com/outerloop-dev/outerloop/pkg/console"
	"github.com/outerloop-dev/outerloop/pkg/console/invoke"
	"github.com/outerloop-dev/outerloop/pkg/console/payload"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
)

// Call calls one function. invoke.Function.Call is one.
type Call func(ctx context.Context, event []byte, repeatable bool) ([]byte, error)

// Forward hands uses on to the function that does them.
type Forward struct{ Approval, Trigger Call }

// triggered are the uses of the trigger function; the others are the approval's.
var triggered = []string{remote.UseStart, remote.UsePublish, remote.UseBlob, remote.UseUpload}

// repeatable are the uses that may be asked for twice: what they find done, they
// say so. A decision may not; the second would be told of the first, by itself.
var repeatable = []string{
	remote.UseStart, remote.UseBlob, remote.UseUpload, remote.UsePause, remote.UseResume, remote.UseCancel, remote.UsePrune,
}

// Do calls the function and gives its answer, or the error that it found.
func (f Forward) Do(ctx context.Context, call remote.Call) (json.RawMessage, error) {
	event, err := remote.Encode(call)
	if err != nil {
		return nil, err
	}
	to := f.Approval
	if slices.Contains(triggered, call.Use) {
		to = f.Trigger
	}
	raw, err := to(ctx, event, slices.Contains(repeatable, call.Use))
	if err != nil {
		return nil, err
	}
	var reply remote.Reply
	if err := json.Unmarshal(raw, &reply); err != nil {
		return nil, fmt.Errorf("reading the answer to %s: %w: %w", call.Use, remote.ErrUnknown, err)
	}
	if reply.Error != nil {
		return nil, reply.Error
	}
	return reply.Answer, nil
}

// New serves an API as a function: events and answers of payload format 2.0.
func New(cfg api.Config) boot.Handler {
	serve := payload.Serve(api.New(cfg), api.TooLarge())
	return func(ctx context.Context, event json.RawMessage) (any, error) { return serve(ctx, event) }
}

// version is the program's, where its build recorded one.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return ""
}

// Open makes it of a function's surroundings.
func Open(_ context.Context, f *boot.Function) (boot.Handler, error) {
	c, err := core.Open(f)
	if err != nil {
		return nil, err
	}
	client := lambda.NewFromConfig(f.AWS)
	return New(api.Config{
		Readers: c.Coordinator, Project: f.Project, Version: version(),
		Forward: Forward{
			Approval: invoke.Function{Client: client, Name: f.Approval}.Call,
			Trigger:  invoke.Function{Client: client, Name: f.Trigger}.Call,
		},
	}), nil
}
