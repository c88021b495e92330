package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// The uses, by their names on the wire.
const (
	UseStart    = "start"
	UseDecide   = "decide"
	UseResolve  = "resolve"
	UseCancel   = "cancel"
	UseRedrive  = "redrive"
	UseRollback = "rollback"
	UsePause    = "pause"
	UseResume   = "resume"
	UsePublish  = "publish"
	UsePrune    = "prune"
	UseStage    = "stage"
	UseDid      = "did"
	UseBlob     = "blob"
	UseUpload   = "upload"
)

// Call is one use case asked for.
type Call struct {
	Use     string          `json:"use"`
	Request json.RawMessage `json:"request"`
}

// Reply is its answer, or why there is none.
type Reply struct {
	Answer json.RawMessage `json:"answer,omitempty"`
	Error  *Error          `json:"error,omitempty"`
}

// Use does one use case: JSON in, a value that encodes as JSON out.
type Use func(ctx context.Context, request json.RawMessage) (any, error)

// Uses are use cases by name. A name that is not there is refused.
type Uses map[string]Use

// use decodes the request, strictly: a field that nobody reads is a mistake.
func use[Request, Answer any](do func(context.Context, Request) (Answer, error)) Use {
	return func(ctx context.Context, raw json.RawMessage) (any, error) {
		var req Request
		if err := Decode(raw, &req); err != nil {
			return nil, err
		}
		return do(ctx, req)
	}
}

// Decode reads a request: one JSON object, without fields that nobody knows.
// Error: ErrRequest.
func Decode(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("%w: %w", ErrRequest, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: something follows the document", ErrRequest)
	}
	return nil
}

// Of are all uses of a coordinator but those of blobs, which With adds.
func Of(c *coordinator.Coordinator) Uses {
	return Uses{
		UseStart: use(func(ctx context.Context, r Start) (Started, error) {
			started, err := c.Start(ctx, r.Request())
			return Started(started), err
		}),
		UseDecide: use(func(ctx context.Context, r Decide) (coordinator.ApprovalView, error) {
			return c.Decide(ctx, coordinator.DecideRequest(r))
		}),
		UseResolve: use(func(ctx context.Context, r Resolve) (coordinator.ExceptionView, error) {
			return c.Resolve(ctx, coordinator.ResolveRequest(r))
		}),
		UseCancel: use(func(ctx context.Context, r Person) (coordinator.RunView, error) {
			return c.Cancel(ctx, coordinator.PersonRequest(r))
		}),
		UseRedrive: use(func(ctx context.Context, r Person) (coordinator.RunView, error) {
			return c.Redrive(ctx, coordinator.PersonRequest(r))
		}),
		UseRollback: use(func(ctx context.Context, r Person) (coordinator.RunView, error) {
			return c.Rollback(ctx, coordinator.PersonRequest(r))
		}),
		UsePause: use(func(ctx context.Context, r Loop) (Paused, error) {
			return Paused{ID: r.Loop, Paused: true}, c.Pause(ctx, r.Loop)
		}),
		UseResume: use(func(ctx context.Context, r Loop) (Paused, error) {
			return Paused{ID: r.Loop}, c.Resume(ctx, r.Loop)
		}),
		UsePublish: use(func(ctx context.Context, r Publish) (coordinator.Published, error) {
			return c.Publish(ctx, coordinator.PublishRequest(r))
		}),
		UseStage: use(func(ctx context.Context, r Stage) (coordinator.AutonomyView, error) {
			return c.SetStage(ctx, coordinator.StageRequest(r))
		}),
		UseDid: use(func(ctx context.Context, r Did) (coordinator.ProposalView, error) {
			return c.Did(ctx, coordinator.DidRequest(r))
		}),
		UsePrune: use(func(ctx context.Context, r Prune) (coordinator.Removed, error) {
			return c.Retain(ctx, coordinator.Retention(r))
		}),
	}
}

// Blobs are where the content of inputs is kept.
type Blobs struct {
	store.Blobs
	// Upload signs a place where large content can be put; nil: there is none,
	// and only content of at most MaxInline bytes can be given.
	Upload func(ctx context.Context, want Upload) (Uploading, error)
}

// With adds the uses of blobs.
func (u Uses) With(b Blobs) Uses {
	u[UseBlob] = use(func(ctx context.Context, r Blob) (Kept, error) {
		if len(r.Content) > MaxInline {
			return Kept{}, fmt.Errorf("content of %d bytes, at most %d are taken: %w", len(r.Content), MaxInline, ErrTooLarge)
		}
		ref, err := b.PutBlob(ctx, r.Content)
		return Kept{Ref: ref}, err
	})
	if b.Upload != nil {
		u[UseUpload] = use(b.Upload)
	}
	return u
}

// Only are some of the uses, for a function that is to do no others.
func (u Uses) Only(names ...string) Uses {
	out := Uses{}
	for _, name := range names {
		if do, ok := u[name]; ok {
			out[name] = do
		}
	}
	return out
}

// Do does one use case and answers its JSON. Errors: ErrRequest, and those of
// the use case.
func (u Uses) Do(ctx context.Context, c Call) (json.RawMessage, error) {
	do, ok := u[c.Use]
	if !ok {
		return nil, fmt.Errorf("%w: there is no use %q here", ErrRequest, c.Use)
	}
	answer, err := do(ctx, c.Request)
	if err != nil {
		return nil, err
	}
	raw, err := Encode(answer)
	if err != nil {
		return nil, fmt.Errorf("encoding the answer of %s: %w", c.Use, err)
	}
	return raw, nil
}

// Encode writes JSON as the coordinator keeps it: without the escapes that only
// HTML needs, so that content which went over a wire is the same bytes.
func Encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Serve answers a Call with a Reply, both as JSON: what a Lambda function gets
// and gives. What went wrong is in the reply; it has no error of its own, so
// that nobody repeats a decision for it.
func (u Uses) Serve(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	var call Call
	var reply Reply
	err := Decode(raw, &call)
	if err == nil {
		reply.Answer, err = u.Do(ctx, call)
	}
	reply.Error = Wrap(err)
	return Encode(reply)
}
