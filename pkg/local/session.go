package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
)

// Session is a writing command's way to a state file: as its owner, or as a
// visitor of the owner. Everything it answers is durable. Use it from one goroutine.
type Session struct {
	cfg   Config
	owner *Engine
	conn  net.Conn
	in    *json.Decoder
	out   *json.Encoder
}

// joinFor is how long Join waits for an owner that is just coming or going.
const joinFor = 10 * time.Second

// Join becomes the owner of the state file, or a visitor where another process
// owns it. A visitor's Progress is told while it drives. When its owner goes
// away, a visitor joins again, and may be the owner then; what it had asked for
// is asked again where asking twice does no harm (not a decision). Close the session.
func Join(ctx context.Context, cfg Config) (*Session, error) {
	s := &Session{cfg: cfg}
	return s, s.join(ctx)
}

func (s *Session) join(ctx context.Context) error {
	deadline := time.Now().Add(joinFor)
	for {
		e, err := Open(ctx, s.cfg)
		if err == nil {
			s.owner = e
			return nil
		}
		var owned *OwnedError
		if !errors.As(err, &owned) {
			return err
		}
		conn, dialErr := net.Dial("unix", owned.Owner.Socket)
		if owned.Owner.Socket != "" && dialErr == nil {
			s.conn, s.in, s.out = conn, json.NewDecoder(conn), json.NewEncoder(conn)
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w, which does not answer", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Owner is the engine when this process owns the state file, else nil.
func (s *Session) Owner() *Engine { return s.owner }

// Close leaves. An owner closes its engine.
func (s *Session) Close() error {
	switch {
	case s.owner != nil:
		return s.owner.Close()
	case s.conn != nil:
		return s.conn.Close()
	}
	return nil
}

// Start starts a run, or says which one there is. See coordinator.Start.
func (s *Session) Start(ctx context.Context, req coordinator.StartRequest) (coordinator.Started, error) {
	if s.owner == nil && req.Check != nil {
		if err := req.Check(req.Input); err != nil {
			return coordinator.Started{}, err
		}
	}
	if s.owner != nil {
		started, err := s.owner.coord.Start(ctx, req)
		return started, errors.Join(err, s.owner.Sync(ctx))
	}
	return do[coordinator.Started](ctx, s, OpStart, remote.StartOf(req))
}

// Decide records a person's word on an approval. See coordinator.Decide.
func (s *Session) Decide(ctx context.Context, req coordinator.DecideRequest) (coordinator.ApprovalView, error) {
	return do[coordinator.ApprovalView](ctx, s, OpDecide, req)
}

// Resolve records a person's answer to an exception. See coordinator.Resolve.
func (s *Session) Resolve(ctx context.Context, req coordinator.ResolveRequest) (coordinator.ExceptionView, error) {
	return do[coordinator.ExceptionView](ctx, s, OpResolve, req)
}

// Cancel cancels a run. See coordinator.Cancel.
func (s *Session) Cancel(ctx context.Context, req coordinator.PersonRequest) (coordinator.RunView, error) {
	return do[coordinator.RunView](ctx, s, OpCancel, req)
}

// Redrive goes on with a failed or blocked run. See coordinator.Redrive.
func (s *Session) Redrive(ctx context.Context, req coordinator.PersonRequest) (coordinator.RunView, error) {
	return do[coordinator.RunView](ctx, s, OpRedrive, req)
}

// Rollback undoes a run's reversible actions. See coordinator.Rollback.
func (s *Session) Rollback(ctx context.Context, req coordinator.PersonRequest) (coordinator.RunView, error) {
	return do[coordinator.RunView](ctx, s, OpRollback, req)
}

// PutBlob keeps content for an input and answers its reference.
func (s *Session) PutBlob(ctx context.Context, content []byte) (string, error) {
	return do[string](ctx, s, OpBlob, content)
}

// Drive returns when nothing can move without a person, an event or time
// beyond the patience. A visitor waits for its owner to come there.
func (s *Session) Drive(ctx context.Context) (Idle, error) {
	return do[Idle](ctx, s, OpDrive, nil)
}

// Publish hands an event from outside in. See coordinator.Publish.
func (s *Session) Publish(ctx context.Context, req coordinator.PublishRequest) (coordinator.Published, error) {
	return do[coordinator.Published](ctx, s, OpPublish, req)
}

// Webhook hands a webhook's delivery in, whose signature the caller has
// verified. See coordinator.Webhook.
func (s *Session) Webhook(ctx context.Context, name string, body json.RawMessage, headers map[string]string) ([]coordinator.Fired, error) {
	return do[[]coordinator.Fired](ctx, s, OpWebhook, webhookBody{Name: name, Body: body, Headers: headers})
}

// Pause lets triggers start nothing of a loop until Resume; open runs go on.
// Error: coordinator.ErrNoLoop.
func (s *Session) Pause(ctx context.Context, loopName string) error {
	_, err := do[bool](ctx, s, OpPause, pauseBody{Loop: loopName, Paused: true})
	return err
}

// Resume lets triggers start runs of a loop again. Error: coordinator.ErrNoLoop.
func (s *Session) Resume(ctx context.Context, loopName string) error {
	_, err := do[bool](ctx, s, OpPause, pauseBody{Loop: loopName})
	return err
}

// Prune deletes the executions, and so the histories, that ended before a time,
// and answers how many. Runs, steps, actions and decisions stay.
func (s *Session) Prune(ctx context.Context, before time.Time) (int, error) {
	return do[int](ctx, s, OpPrune, pruneBody{Before: before})
}

// Clean removes what ended long ago and gives the space back.
func (s *Session) Clean(ctx context.Context, req CleanRequest) (Cleaned, error) {
	return do[Cleaned](ctx, s, OpClean, req)
}

// do has an operation done by the owner, whoever it is.
func do[Answer any](ctx context.Context, s *Session, op string, body any) (answer Answer, err error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return answer, fmt.Errorf("encoding %s: %w", op, err)
	}
	reply, err := s.request(ctx, Request{Op: op, Body: raw})
	for deadline := time.Now().Add(joinFor); errors.Is(err, errOwnerGone) && repeatable(op) && time.Now().Before(deadline); {
		_ = s.conn.Close() // it is gone
		if err := s.join(ctx); err != nil {
			return answer, err
		}
		reply, err = s.request(ctx, Request{Op: op, Body: raw})
	}
	if errors.Is(err, errOwnerGone) && op == OpPublish {
		return answer, fmt.Errorf("%w: the event may have been taken; look (outerloop runs) before it is sent again", err)
	}
	if errors.Is(err, errOwnerGone) {
		return answer, fmt.Errorf("%w: the same command again does it, or says that it was done before", err)
	}
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(reply, &answer); err != nil {
		return answer, fmt.Errorf("decoding the answer to %s: %w", op, err)
	}
	return answer, nil
}

// repeatable tells whether an operation may be asked for twice. A decision may
// not: the second would be told that it was decided, by itself. Nor may an
// event: without an id it would be two.
func repeatable(op string) bool {
	return op != OpDecide && op != OpResolve && op != OpPublish && op != OpStage && op != OpDid
}

// errOwnerGone says that the owner went away before it answered.
var errOwnerGone = errors.New("the owner of the state file went away")

func (s *Session) request(ctx context.Context, req Request) (json.RawMessage, error) {
	if s.owner != nil {
		return s.owner.serveRequest(ctx, req)
	}
	return s.ask(ctx, req)
}

// ask sends a request and shows progress until it is done.
func (s *Session) ask(ctx context.Context, req Request) (json.RawMessage, error) {
	stop := context.AfterFunc(ctx, func() { _ = s.conn.Close() })
	defer stop()
	if err := s.out.Encode(req); err != nil {
		return nil, fmt.Errorf("%w: asking it to %s: %w", errOwnerGone, req.Op, errors.Join(ctx.Err(), err))
	}
	for {
		var reply Reply
		if err := s.in.Decode(&reply); err != nil {
			return nil, fmt.Errorf("%w during %s: %w", errOwnerGone, req.Op, errors.Join(ctx.Err(), err))
		}
		switch failed := reply.Error; {
		case reply.Progress != nil && s.cfg.Progress != nil:
			s.cfg.Progress(*reply.Progress)
		case !reply.Done:
		case failed == nil:
			return reply.Body, nil
		case errors.Is(failed, ErrClosed):
			return nil, fmt.Errorf("%w during %s: %w", errOwnerGone, req.Op, failed)
		default:
			return nil, failed
		}
	}
}

// serveRequest does one request of a visitor, or of the owner's own command.
func (e *Engine) serveRequest(ctx context.Context, req Request) (json.RawMessage, error) {
	serve, ok := operations[req.Op]
	if !ok {
		return nil, fmt.Errorf("unknown operation %q", req.Op)
	}
	answer, err := serve(ctx, e, req.Body)
	if err := errors.Join(err, e.store.Sync(ctx)); err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

var operations = map[string]func(ctx context.Context, e *Engine, body json.RawMessage) (any, error){
	OpStart: operation(func(ctx context.Context, e *Engine, req remote.Start) (coordinator.Started, error) {
		return e.coord.Start(ctx, req.Request())
	}),
	OpDecide: operation(func(ctx context.Context, e *Engine, req coordinator.DecideRequest) (coordinator.ApprovalView, error) {
		return e.coord.Decide(ctx, req)
	}),
	OpResolve: operation(func(ctx context.Context, e *Engine, req coordinator.ResolveRequest) (coordinator.ExceptionView, error) {
		return e.coord.Resolve(ctx, req)
	}),
	OpCancel: operation(func(ctx context.Context, e *Engine, req coordinator.PersonRequest) (coordinator.RunView, error) {
		return e.coord.Cancel(ctx, req)
	}),
	OpRedrive: operation(func(ctx context.Context, e *Engine, req coordinator.PersonRequest) (coordinator.RunView, error) {
		return e.coord.Redrive(ctx, req)
	}),
	OpRollback: operation(func(ctx context.Context, e *Engine, req coordinator.PersonRequest) (coordinator.RunView, error) {
		return e.coord.Rollback(ctx, req)
	}),
	OpBlob: operation(func(ctx context.Context, e *Engine, content []byte) (string, error) {
		return e.store.PutBlob(ctx, content)
	}),
	OpPause: operation(func(ctx context.Context, e *Engine, req pauseBody) (bool, error) {
		if req.Paused {
			return true, e.coord.Pause(ctx, req.Loop)
		}
		return false, e.coord.Resume(ctx, req.Loop)
	}),
	OpStage: operation(func(ctx context.Context, e *Engine, req coordinator.StageRequest) (coordinator.AutonomyView, error) {
		return e.coord.SetStage(ctx, req)
	}),
	OpDid: operation(func(ctx context.Context, e *Engine, req coordinator.DidRequest) (coordinator.ProposalView, error) {
		return e.coord.Did(ctx, req)
	}),
	OpPublish: operation(func(ctx context.Context, e *Engine, req coordinator.PublishRequest) (coordinator.Published, error) {
		return e.coord.Publish(ctx, req)
	}),
	OpWebhook: operation(func(ctx context.Context, e *Engine, req webhookBody) ([]coordinator.Fired, error) {
		return e.coord.Webhook(ctx, req.Name, req.Body, req.Headers)
	}),
	OpPrune: operation(func(ctx context.Context, e *Engine, req pruneBody) (int, error) {
		return e.Prune(ctx, req.Before)
	}),
	OpClean: operation(func(ctx context.Context, e *Engine, req CleanRequest) (Cleaned, error) {
		return e.Clean(ctx, req)
	}),
	OpDrive: operation(func(ctx context.Context, e *Engine, _ *struct{}) (Idle, error) {
		return e.RunUntilIdle(ctx)
	}),
}

func operation[Req, Ans any](do func(context.Context, *Engine, Req) (Ans, error)) func(context.Context, *Engine, json.RawMessage) (any, error) {
	return func(ctx context.Context, e *Engine, body json.RawMessage) (any, error) {
		var req Req
		if err := json.Unmarshal(body, &req); err != nil {
			return nil, fmt.Errorf("reading the request: %w", err)
		}
		return do(ctx, e, req)
	}
}

// State tells whether there is a state file to read. Error: ErrNoState.
func State(path string) error {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", ErrNoState, path)
	}
	return err
}
