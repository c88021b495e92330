package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/outerloop-dev/outerloop/pkg/console"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Start starts a run, or says which one there is. See coordinator.Start; the
// request's check is made here, before anything is asked.
func (c *Client) Start(ctx context.Context, req coordinator.StartRequest) (coordinator.Started, error) {
	if req.Check != nil {
		if err := req.Check(req.Input); err != nil {
			return coordinator.Started{}, err
		}
	}
	started, err := post[remote.Started](ctx, c, "/v1/runs", remote.StartOf(req))
	return started.Started(), err
}

// Decide records a person's word on an approval. See coordinator.Decide.
func (c *Client) Decide(ctx context.Context, req coordinator.DecideRequest) (coordinator.ApprovalView, error) {
	if !named(req.Approval) {
		return coordinator.ApprovalView{}, coordinator.ErrNoApproval
	}
	return post[coordinator.ApprovalView](ctx, c, at("v1", "approvals", req.Approval, "decision"), console.DecisionBody{
		Verdict: req.Verdict, By: req.By, Reason: req.Reason, Edit: req.Edit,
	})
}

// Resolve records a person's answer to an exception. See coordinator.Resolve.
func (c *Client) Resolve(ctx context.Context, req coordinator.ResolveRequest) (coordinator.ExceptionView, error) {
	if !named(req.Exception) {
		return coordinator.ExceptionView{}, coordinator.ErrNoException
	}
	return post[coordinator.ExceptionView](ctx, c, at("v1", "exceptions", req.Exception, "resolution"), console.ResolutionBody{
		Way: req.Way, By: req.By, Reason: req.Reason, Value: req.Value, Outcome: req.Outcome,
	})
}

// Cancel cancels a run. See coordinator.Cancel.
func (c *Client) Cancel(ctx context.Context, req coordinator.PersonRequest) (coordinator.RunView, error) {
	return c.person(ctx, remote.UseCancel, req)
}

// Redrive goes on with a failed or blocked run. See coordinator.Redrive.
func (c *Client) Redrive(ctx context.Context, req coordinator.PersonRequest) (coordinator.RunView, error) {
	return c.person(ctx, remote.UseRedrive, req)
}

// Rollback undoes a run's reversible actions. See coordinator.Rollback.
func (c *Client) Rollback(ctx context.Context, req coordinator.PersonRequest) (coordinator.RunView, error) {
	return c.person(ctx, remote.UseRollback, req)
}

func (c *Client) person(ctx context.Context, use string, req coordinator.PersonRequest) (coordinator.RunView, error) {
	if !named(req.Run) {
		return coordinator.RunView{}, coordinator.ErrNoRun
	}
	return post[coordinator.RunView](ctx, c, at("v1", "runs", req.Run, use), console.PersonBody{By: req.By, Reason: req.Reason})
}

// Pause lets triggers start nothing of a loop until Resume. Error: coordinator.ErrNoLoop.
func (c *Client) Pause(ctx context.Context, loop string) error {
	return c.set(ctx, loop, remote.UsePause)
}

// Resume lets triggers start runs of a loop again. Error: coordinator.ErrNoLoop.
func (c *Client) Resume(ctx context.Context, loop string) error {
	return c.set(ctx, loop, remote.UseResume)
}

func (c *Client) set(ctx context.Context, loop, use string) error {
	if !named(loop) {
		return coordinator.ErrNoLoop
	}
	_, err := post[remote.Paused](ctx, c, at("v1", "loops", loop, use), struct{}{})
	return err
}

// Publish hands an event from outside in. See coordinator.Publish.
func (c *Client) Publish(ctx context.Context, req coordinator.PublishRequest) (coordinator.Published, error) {
	return post[coordinator.Published](ctx, c, "/v1/events", remote.Publish(req))
}

// SetStage raises or lowers an action's stage by a person's word. See coordinator.SetStage.
func (c *Client) SetStage(ctx context.Context, req coordinator.StageRequest) (coordinator.AutonomyView, error) {
	return post[coordinator.AutonomyView](ctx, c, "/v1/stage", remote.Stage(req))
}

// Did compares a proposal with what people did. See coordinator.Did.
func (c *Client) Did(ctx context.Context, req coordinator.DidRequest) (coordinator.ProposalView, error) {
	if len(req.Payload) == 0 {
		req.Payload = []byte("null")
	}
	return post[coordinator.ProposalView](ctx, c, "/v1/did", remote.Did(req))
}

// Prune removes closed runs that ended long ago; Removed.More: not all of them yet.
func (c *Client) Prune(ctx context.Context, r coordinator.Retention) (coordinator.Removed, error) {
	return post[coordinator.Removed](ctx, c, "/v1/prune", remote.Prune(r))
}

// PutBlob keeps content for an input and answers its reference: through the API
// up to 4 MB, else by a signed PUT to where the API says. Storing the same
// content again is no error.
func (c *Client) PutBlob(ctx context.Context, content []byte) (string, error) {
	if len(content) <= remote.MaxInline {
		kept, err := post[remote.Kept](ctx, c, "/v1/blobs", remote.Blob{Content: content})
		return kept.Ref, err
	}
	sum := sha256.Sum256(content)
	to, err := post[remote.Uploading](ctx, c, "/v1/uploads", remote.Upload{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(content))})
	if err != nil {
		return "", err
	}
	if want := store.BlobRef(content); to.Ref != want {
		return "", fmt.Errorf("the console would keep the content as %q, it is %s", to.Ref, want)
	}
	if to.URL == "" {
		return to.Ref, nil
	}
	return to.Ref, upload(ctx, to, content)
}

// upload puts content where it was signed for. It is no request of the API.
func upload(ctx context.Context, to remote.Uploading, content []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, to.URL, bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("uploading %s: %w", to.Ref, err)
	}
	for name, value := range to.Headers {
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("uploading %s: %w", to.Ref, unwrap(err))
	}
	said, err := io.ReadAll(io.LimitReader(res.Body, 500))
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return fmt.Errorf("uploading %s: %w", to.Ref, err)
	}
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("uploading %s: the bucket answers %s: %s", to.Ref, res.Status, said)
	}
	return nil
}
