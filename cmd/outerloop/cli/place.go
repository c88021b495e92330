package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/console/client"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
)

// decider records what people decide.
type decider interface {
	Decide(ctx context.Context, req coordinator.DecideRequest) (coordinator.ApprovalView, error)
	Resolve(ctx context.Context, req coordinator.ResolveRequest) (coordinator.ExceptionView, error)
	Cancel(ctx context.Context, req coordinator.PersonRequest) (coordinator.RunView, error)
	Redrive(ctx context.Context, req coordinator.PersonRequest) (coordinator.RunView, error)
	Rollback(ctx context.Context, req coordinator.PersonRequest) (coordinator.RunView, error)
}

// starter starts runs, and lets triggers start some or none.
type starter interface {
	Start(ctx context.Context, req coordinator.StartRequest) (coordinator.Started, error)
	PutBlob(ctx context.Context, content []byte) (string, error)
	Publish(ctx context.Context, req coordinator.PublishRequest) (coordinator.Published, error)
	Pause(ctx context.Context, loop string) error
	Resume(ctx context.Context, loop string) error
}

// session is a writing command's way to its runs: to the state file of this
// machine, or to a deployment.
type session interface {
	decider
	starter
	// drive returns when nothing more can move without a person or a later time:
	// the engine of this machine works until then, a deployment is watched.
	drive(ctx context.Context, run string) (local.Idle, error)
	Close() error
}

// here is the state file of this machine.
type localSession struct{ *local.Session }

func (s localSession) drive(ctx context.Context, run string) (local.Idle, error) {
	return drive(ctx, s.Session, run)
}

// farSession is a deployment.
type farSession struct {
	*client.Client
	a     *app
	shown *progress
}

func (farSession) Close() error { return nil }

// session opens the place of a writing command; p is the project, nil: there is none.
func (a *app) session(ctx context.Context, p *opened, shown *progress) (session, error) {
	if a.far() {
		c, err := a.console(ctx)
		return farSession{c, a, shown}, err
	}
	cfg, err := a.engineConfig(p)
	if err != nil {
		return nil, err
	}
	cfg.Progress = shown.tell
	s, err := a.join(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return localSession{s}, nil
}

// needRuns refuses where nothing was ever started.
func (a *app) needRuns() error {
	if a.far() {
		return nil
	}
	err := local.State(a.stateFile())
	if errors.Is(err, local.ErrNoState) {
		return a.noRuns()
	}
	return err
}

const (
	// pollFirst and pollLast are how soon a deployment is asked again, at first
	// and in the end; usualPoll is the unit.
	pollFirst, pollLast = 1, 5
	usualPoll           = time.Second
	// restAfter is for how long a run must stand still with something that waits
	// for a person, and nothing under way, to be at rest; idleAfter the same
	// where nothing waits for a person.
	restAfter, idleAfter = 3, 120
)

// poll is the unit of time in which a deployment is asked.
func (a *app) poll() time.Duration {
	if a.Poll > 0 {
		return a.Poll
	}
	return usualPoll
}

// drive looks at a run until it moves no more. The deployment works by itself,
// whether or not anybody looks.
func (s farSession) drive(ctx context.Context, run string) (local.Idle, error) {
	if run == "" {
		return local.Idle{}, nil
	}
	unit := s.a.poll()
	last, stands := "", time.Duration(0)
	for wait := pollFirst * unit; ; {
		view, err := s.Show(ctx, run)
		if err != nil {
			return local.Idle{}, err
		}
		s.shown.see(view)
		if at := standing(view); at != last {
			last, stands, wait = at, 0, pollFirst*unit
		}
		if atRest(view, stands/unit) {
			return local.Idle{}, nil
		}
		select {
		case <-time.After(wait):
			stands += wait
			wait = min(wait*2, pollLast*unit)
		case <-ctx.Done():
			return local.Idle{}, ctx.Err()
		}
	}
}

// standing is what a run looks like when it has not moved.
func standing(v coordinator.ShowView) string {
	tries := 0
	for _, s := range v.Steps {
		tries += s.Attempts
	}
	return fmt.Sprint(v.Status, v.Reason, v.Counts, len(v.Waiting), tries)
}

// atRest tells whether a run that stands for some units of time moves no more by itself.
func atRest(v coordinator.ShowView, stands time.Duration) bool {
	if v.Status.Closed() || v.Status == outerloop.StatusBlocked {
		return true
	}
	for _, s := range v.Steps {
		if s.Status == outerloop.StepRunning {
			return false
		}
	}
	if len(v.Waiting) > 0 {
		return stands >= restAfter
	}
	return stands >= idleAfter
}
