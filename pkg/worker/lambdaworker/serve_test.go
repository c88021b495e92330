package lambdaworker_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/lambdaworker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

type hidden struct {
	receipt string
	d       time.Duration
}

type queue struct{ hidden []hidden }

func (q *queue) Hide(_ context.Context, arn, receipt string, d time.Duration) error {
	q.hidden = append(q.hidden, hidden{arn + "/" + receipt, d})
	return nil
}

func echo(work func(ctx context.Context) error) worker.Worker {
	return worker.New("echo", 1, func(ctx context.Context, t worker.Task[map[string]any]) (worker.Result[map[string]any], error) {
		return worker.Result[map[string]any]{Output: t.Input}, work(ctx)
	})
}

func done(context.Context) error { return nil }

func task() *gate.Task { return &gate.Task{Run: "run", Step: "say", Input: json.RawMessage(`{}`)} }

const direct = `{"run":"run","gen":1,"step":"say","item":""}`

func message(body string) string {
	text, _ := json.Marshal(body)
	return `{"Records":[{"messageId":"m-1","receiptHandle":"r-1","eventSourceARN":"arn:queue","body":` + string(text) + `}]}`
}

func lambdaContext(t *testing.T, limit time.Duration) context.Context {
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "aws-1"})
	ctx, cancel := context.WithTimeout(ctx, limit)
	t.Cleanup(cancel)
	return ctx
}

// serve passes an event through Lambda's own encoding of answers and errors.
func serve(ctx context.Context, t *testing.T, s *lambdaworker.Server, event string) (answer string, failed *messages.InvokeResponse_Error) {
	t.Helper()
	out, err := lambda.NewHandler(s.Handle).Invoke(ctx, []byte(event))
	var named messages.InvokeResponse_Error
	if err != nil {
		if !errors.As(err, &named) {
			t.Fatalf("the machine would see %T", err)
		}
		return "", &named
	}
	return string(out), nil
}

func TestDirect(t *testing.T) {
	t.Parallel()
	until := time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		gate  *workertest.Gate
		work  func(context.Context) error
		event string
		want  string
	}{
		"done":     {&workertest.Gate{Task: task()}, done, direct, `{"outcome":"completed","label":null,"until":null,"items":null}`},
		"failed":   {&workertest.Gate{Task: task()}, func(context.Context) error { return worker.Refused("no") }, direct, outerloop.ErrorRefused},
		"later":    {&workertest.Gate{Answer: gate.AdmitAnswer{Decision: gate.Later, Until: until}}, done, direct, outerloop.ErrorNotNow},
		"approval": {&workertest.Gate{Answer: gate.AdmitAnswer{Decision: gate.Answered, Verdict: &gate.Verdict{Error: outerloop.ErrorNeedsApproval}}}, done, direct, outerloop.ErrorNeedsApproval},
		"nonsense": {&workertest.Gate{}, done, `{"run":1}`, outerloop.ErrorFatal},
		"no step":  {&workertest.Gate{}, done, `{"run":"run"}`, outerloop.ErrorFatal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, failed := serve(lambdaContext(t, time.Minute), t, lambdaworker.New(echo(c.work), lambdaworker.Config{Gate: c.gate}), c.event)
			if failed != nil {
				answer = failed.Type
			}
			if answer != c.want {
				t.Errorf("%s, want %s", answer, c.want)
			}
			if len(c.gate.Settled) > 0 && c.gate.Settled[0].Nonce != "aws-1/2" {
				t.Errorf("nonce %s", c.gate.Settled[0].Nonce)
			}
		})
	}
}

func later(d time.Duration) func() *workertest.Gate {
	return func() *workertest.Gate {
		return &workertest.Gate{Answer: gate.AdmitAnswer{Decision: gate.Later, Until: time.Now().Add(d)}}
	}
}

func leased() *workertest.Gate {
	g := &workertest.Gate{Task: task()}
	g.Task.Lease = time.Now().Add(time.Minute)
	return g
}

// A message is acknowledged only when it was answered; else it comes again when it may.
func TestQueue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		gate   func() *workertest.Gate
		body   string
		failed bool
		hidden time.Duration
	}{
		"done":     {leased, direct, false, 61 * time.Second},
		"busy":     {later(90 * time.Second), direct, true, 91 * time.Second},
		"far away": {later(90 * time.Hour), direct, true, 11*time.Hour + 44*time.Minute},
		"due":      {later(-time.Minute), direct, true, 0},
		"over": {func() *workertest.Gate {
			return &workertest.Gate{Answer: gate.AdmitAnswer{Decision: gate.Answered, Verdict: &gate.Verdict{Error: outerloop.ErrorStop}}}
		}, direct, false, -1},
		"no answer": {func() *workertest.Gate {
			return &workertest.Gate{Task: task(), Lose: map[workertest.Call]int{workertest.Settle: 99}}
		}, direct, true, -1},
		"poison": {leased, "hello", true, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := &queue{}
				s := lambdaworker.New(echo(done), lambdaworker.Config{Gate: c.gate(), Visibility: q})
				answer, failed := serve(lambdaContext(t, time.Minute), t, s, message(c.body))
				if failed != nil || strings.Contains(answer, `{"itemIdentifier":"m-1"}`) != c.failed || !strings.Contains(answer, "batchItemFailures") {
					t.Errorf("%s, %v", answer, failed)
				}
				got := hidden{"arn:queue/r-1", -1}
				if len(q.hidden) > 0 {
					got = q.hidden[0]
				}
				if got != (hidden{"arn:queue/r-1", c.hidden}) {
					t.Errorf("hidden %+v, want for %v", got, c.hidden)
				}
			})
		})
	}
}

// A function that does not return in time is not left frozen: the process ends.
func TestExit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		code := 0
		g := &workertest.Gate{Task: task()}
		s := lambdaworker.New(echo(func(context.Context) error { <-release; return nil }), lambdaworker.Config{
			Gate: g, Exit: func(c int) { code = c },
		})
		_, _ = serve(lambdaContext(t, time.Minute), t, s, direct)
		if code != 1 || len(g.Settled) != 1 || g.Settled[0].Failure.Class != outerloop.ClassTimeout {
			t.Errorf("exit code %d, settled %+v", code, g.Settled)
		}
		close(release)
	})
}
