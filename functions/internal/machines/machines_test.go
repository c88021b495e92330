package machines_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/outerloop-dev/outerloop/functions/internal/machines"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest/memstore"
)

const (
	loopName = "research-topic"
	machine  = "arn:aws:states:eu-central-1:123456789012:stateMachine:acme-research-topic:7"
)

// api is Step Functions: it answers err, else out.
type api struct {
	err     error
	status  types.ExecutionStatus
	started *sfn.StartExecutionInput
	stopped *sfn.StopExecutionInput
	asked   string
	failed  *sfn.SendTaskFailureInput
}

func (a *api) StartExecution(_ context.Context, in *sfn.StartExecutionInput, _ ...func(*sfn.Options)) (*sfn.StartExecutionOutput, error) {
	a.started = in
	return &sfn.StartExecutionOutput{}, a.err
}

func (a *api) StopExecution(_ context.Context, in *sfn.StopExecutionInput, _ ...func(*sfn.Options)) (*sfn.StopExecutionOutput, error) {
	a.stopped = in
	return &sfn.StopExecutionOutput{}, a.err
}

func (a *api) DescribeExecution(_ context.Context, in *sfn.DescribeExecutionInput, _ ...func(*sfn.Options)) (*sfn.DescribeExecutionOutput, error) {
	a.asked = *in.ExecutionArn
	return &sfn.DescribeExecutionOutput{Status: a.status, Error: aws.String("Outerloop.Halt"), Cause: aws.String("why")}, a.err
}

func (a *api) SendTaskSuccess(context.Context, *sfn.SendTaskSuccessInput, ...func(*sfn.Options)) (*sfn.SendTaskSuccessOutput, error) {
	return nil, a.err
}

func (a *api) SendTaskFailure(_ context.Context, in *sfn.SendTaskFailureInput, _ ...func(*sfn.Options)) (*sfn.SendTaskFailureOutput, error) {
	a.failed = in
	return nil, a.err
}

// bundle is a table with a published definition.
type bundle struct {
	*testing.T
	store       *memstore.Store
	publisher   machines.Publisher
	definitions *machines.Definitions
	now         time.Time
	ids         int
	content     []byte
	hash        string
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{T: t, store: memstore.New(), now: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)}
	b.publisher = machines.Publisher{Store: b.store, Blobs: b.store, IDs: func() string { b.ids++; return fmt.Sprint("id-", b.ids) }}
	b.definitions = machines.NewDefinitions(b.store, b.store, func() time.Time { return b.now })
	p, problems := project.Load(os.DirFS("../../.."))
	b.must(problems.Err())
	var err error
	b.content, err = p.Bundle(loopName)
	b.must(err)
	b.hash = project.Hash(b.content)
	return b
}

func (b *bundle) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bundle) published() *bundle {
	b.Helper()
	b.must(b.publisher.Definition(b.Context(), loopName, b.hash, b.content))
	b.must(b.publisher.Latest(b.Context(), machines.Latest{Loop: loopName, Hash: b.hash, Machine: machine}))
	return b
}

// run puts an open run of the definition into the table.
func (b *bundle) run(id string) {
	b.Helper()
	r := record.Run{ID: id, Loop: loopName, Definition: b.hash, Started: b.now, Numbers: map[string]int64{record.RunOpen: 1}}
	b.must(b.store.Write(b.Context(), "run-"+id, r.Put()))
	l := record.Loop{Name: loopName}
	_ = b.store.Write(b.Context(), "loop-"+id, l.Put()) // it may be there
}

func execution(b *bundle) coordinator.Execution {
	return coordinator.Execution{Name: "topic-1-g2", Loop: loopName, Definition: b.hash, Input: json.RawMessage(`{"gen":2,"run":"topic-1"}`)}
}

// The version that was published for the pinned definition is started; an
// execution that is there is that execution (R69).
func TestStart(t *testing.T) {
	t.Parallel()
	b := setup(t).published()
	a := &api{}
	x := machines.Executions{Client: a, Definitions: b.definitions}
	b.must(x.Start(t.Context(), execution(b)))
	if *a.started.StateMachineArn != machine || *a.started.Name != "topic-1-g2" || *a.started.Input != `{"gen":2,"run":"topic-1"}` {
		t.Errorf("started %s %s %s", *a.started.StateMachineArn, *a.started.Name, *a.started.Input)
	}
	a.err = &types.ExecutionAlreadyExists{}
	b.must(x.Start(t.Context(), execution(b)))
	a.err = &types.StateMachineDoesNotExist{}
	if err := x.Start(t.Context(), execution(b)); !errors.Is(err, a.err) {
		t.Error(err)
	}
	unpublished := setup(t)
	unpublished.must(unpublished.publisher.Definition(t.Context(), loopName, unpublished.hash, unpublished.content))
	if err := (machines.Executions{Client: a, Definitions: unpublished.definitions}).Start(t.Context(), execution(b)); !errors.Is(err, machines.ErrNoMachine) {
		t.Error(err)
	}
	if err := (machines.Executions{Client: a, Definitions: setup(t).definitions}).Start(t.Context(), execution(b)); !errors.Is(err, coordinator.ErrNoDefinition) {
		t.Error(err)
	}
}

func TestDescribeAndStop(t *testing.T) {
	t.Parallel()
	b := setup(t).published()
	b.run("topic-1")
	for name, c := range map[string]struct {
		api  api
		name string
		want coordinator.ExecutionState
	}{
		"running": {api{status: types.ExecutionStatusRunning}, "topic-1-g2", coordinator.ExecutionState{Status: coordinator.ExecutionRunning}},
		"failed":  {api{status: types.ExecutionStatusFailed}, "topic-1-g2", coordinator.ExecutionState{Status: coordinator.ExecutionEnded, Error: "Outerloop.Halt", Cause: "why"}},
		"absent":  {api{err: &types.ExecutionDoesNotExist{}}, "topic-1-g2", coordinator.ExecutionState{Status: coordinator.ExecutionAbsent}},
		"no run":  {api{}, "topic-2-g1", coordinator.ExecutionState{Status: coordinator.ExecutionAbsent}},
		"no g":    {api{}, "something", coordinator.ExecutionState{Status: coordinator.ExecutionAbsent}},
	} {
		x := machines.Executions{Client: &c.api, Definitions: b.definitions}
		got, err := x.Describe(t.Context(), c.name)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if want := "arn:aws:states:eu-central-1:123456789012:execution:acme-research-topic:topic-1-g2"; c.api.asked != "" && c.api.asked != want {
			t.Errorf("%s: asked %s", name, c.api.asked)
		}
		if err := x.Stop(t.Context(), c.name, "Outerloop.Stop", strings.Repeat("é", 40000)); err != nil {
			t.Errorf("%s: stopping: %v", name, err)
		}
		if c.api.stopped != nil && (len(*c.api.stopped.Cause) > 32768 || !strings.HasSuffix(*c.api.stopped.Cause, "é")) {
			t.Errorf("%s: cause of %d bytes", name, len(*c.api.stopped.Cause))
		}
	}
	down := machines.Executions{Client: &api{err: errors.New("down")}, Definitions: b.definitions}
	if _, err := down.Describe(t.Context(), "topic-1-g2"); err == nil {
		t.Error("an error of the API was taken for an answer")
	}
	if err := down.Stop(t.Context(), "topic-1-g2", "", ""); err == nil {
		t.Error("an error of the API was taken for an answer")
	}
}

// A token that is used, expired or unknown is gone; no error holds it.
func TestTokens(t *testing.T) {
	t.Parallel()
	for _, gone := range []error{&types.TaskTimedOut{}, &types.TaskDoesNotExist{}, &types.InvalidToken{}} {
		k := machines.Tokens{Client: &api{err: fmt.Errorf("operation error SFN: %w", gone)}}
		for _, err := range []error{k.Succeed(t.Context(), "secret-token", json.RawMessage(`{}`)), k.Fail(t.Context(), "secret-token", "E", "c")} {
			if !errors.Is(err, coordinator.ErrTokenGone) || strings.Contains(err.Error(), "secret-token") {
				t.Errorf("%T: %v", gone, err)
			}
		}
	}
	a := &api{}
	k := machines.Tokens{Client: a}
	if err := k.Fail(t.Context(), "token", strings.Repeat("x", 300), "c"); err != nil || len(*a.failed.Error) != 256 {
		t.Errorf("%v, error name of %d", err, len(*a.failed.Error))
	}
	a.err = &types.InvalidOutput{}
	if err := k.Succeed(t.Context(), "token", nil); err == nil || errors.Is(err, coordinator.ErrTokenGone) {
		t.Error(err)
	}
}

// A deployment is published twice without harm; what is not what it says is refused.
func TestPublish(t *testing.T) {
	t.Parallel()
	b := setup(t).published().published()
	hash, err := b.definitions.Latest(t.Context(), loopName)
	if err != nil || hash != b.hash {
		t.Errorf("%s, %v", hash, err)
	}
	def, err := b.definitions.Definition(t.Context(), hash)
	if err != nil || def.Hash != hash || def.Loop.Name != loopName {
		t.Errorf("%+v, %v", def, err)
	}
	if _, err := b.definitions.Latest(t.Context(), "nobody"); !errors.Is(err, coordinator.ErrNoLoop) {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"another hash":  b.publisher.Definition(t.Context(), loopName, strings.Repeat("0", 64), b.content),
		"another loop":  b.publisher.Definition(t.Context(), "other", b.hash, b.content),
		"broken":        b.publisher.Definition(t.Context(), loopName, project.Hash([]byte("{")), []byte("{")),
		"not published": b.publisher.Latest(t.Context(), machines.Latest{Loop: loopName, Hash: strings.Repeat("0", 64), Machine: machine}),
	} {
		if !errors.Is(err, machines.ErrBundle) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The latest definition may be ten seconds old, a new loop is seen at once.
func TestLatestIsRemembered(t *testing.T) {
	t.Parallel()
	b := setup(t).published()
	if _, err := b.definitions.Latest(t.Context(), loopName); err != nil {
		t.Fatal(err)
	}
	b.must(b.publisher.Withdraw(t.Context(), loopName))
	b.now = b.now.Add(10 * time.Second)
	if _, err := b.definitions.Latest(t.Context(), loopName); err != nil {
		t.Error(err)
	}
	b.now = b.now.Add(time.Second)
	if _, err := b.definitions.Latest(t.Context(), loopName); !errors.Is(err, coordinator.ErrNoLoop) {
		t.Error(err)
	}
	b.published()
	if names, err := b.definitions.Loops(t.Context()); err != nil || len(names) > 0 {
		t.Errorf("%v, %v", names, err)
	}
	if _, err := b.definitions.Latest(t.Context(), loopName); err != nil {
		t.Errorf("a new loop: %v", err)
	}
}

// Nothing that an open run needs is removed: neither its loop nor a worker.
func TestOpenRunsAreKept(t *testing.T) {
	t.Parallel()
	b := setup(t).published()
	def, err := b.definitions.Definition(t.Context(), b.hash)
	b.must(err)
	var all []string
	for name := range def.Workers {
		all = append(all, name)
	}
	workers := func(workers, loops []string) error {
		return b.publisher.Workers(t.Context(), machines.Deployed{Workers: workers, Loops: loops}, b.definitions)
	}
	b.must(workers(nil, []string{}))
	b.run("topic-1")
	if err := b.publisher.Withdraw(t.Context(), loopName); !errors.Is(err, machines.ErrOpenRuns) || !strings.Contains(err.Error(), "topic-1") {
		t.Error(err)
	}
	b.must(workers(all, nil))
	b.must(workers(all, []string{loopName}))
	if err := workers(all, []string{"another"}); !errors.Is(err, machines.ErrOpenRuns) || !strings.Contains(err.Error(), "removing loop "+loopName) {
		t.Error(err)
	}
	if err := workers(all[1:], nil); !errors.Is(err, machines.ErrOpenRuns) || !strings.Contains(err.Error(), all[0]) {
		t.Error(err)
	}
}
