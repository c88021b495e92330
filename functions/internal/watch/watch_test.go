package watch_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/outerloop-dev/outerloop/functions/internal/watch"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/telemetry"
)

var now = time.Date(2026, 11, 30, 8, 5, 20, 0, time.UTC)

// rounds notes what it is asked; fail is what Watch comes to.
type rounds struct {
	did  []string
	fail error
}

func (r *rounds) Watch(context.Context) (coordinator.Tick, error) {
	r.did = append(r.did, "watch")
	return coordinator.Tick{Looked: 3, Repaired: []string{"run x: started"}}, r.fail
}

func (r *rounds) WatchRun(_ context.Context, run string) (coordinator.Tick, error) {
	r.did = append(r.did, "run "+run)
	return coordinator.Tick{Looked: 1}, nil
}

func (r *rounds) CatchUp(context.Context, func(context.Context, string, json.RawMessage) (json.RawMessage, error)) ([]coordinator.Fired, error) {
	r.did = append(r.did, "catch up")
	return make([]coordinator.Fired, 2), nil
}

func (r *rounds) Beat(_ context.Context, _ coordinator.Tick, failed error) error {
	r.did = append(r.did, fmt.Sprintf("beat %v", failed))
	return nil
}

func function(r *rounds, out *bytes.Buffer, at time.Time) *watch.Function {
	return watch.New(watch.Config{
		Coordinator: r, Project: "acme", Now: func() time.Time { return at },
		Gauge: func(context.Context) ([]telemetry.Metric, error) {
			return []telemetry.Metric{{Name: "OpenExceptions", Unit: telemetry.Count, Value: 4}}, nil
		},
		DeadLetters: func(context.Context) (int, error) { r.did = append(r.did, "queues"); return 7, nil },
		Tell:        func(context.Context) error { r.did = append(r.did, "tell"); return nil },
		Metrics:     telemetry.EMF{Out: out, Namespace: watch.Namespace, Now: func() time.Time { return at }},
	})
}

// A round does everything, also after something failed, and tells that it went
// round; queues are looked into every five minutes.
func TestRound(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := &rounds{}
	answer, err := function(r, &out, now).Handle(t.Context(), []byte(`{}`))
	if err != nil || answer.(watch.Round).Caught != 2 || fmt.Sprint(r.did) != "[watch catch up queues tell beat <nil>]" {
		t.Errorf("%+v, %v, did %v", answer, err, r.did)
	}
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line["Watched"] != 1.0 || line["DeadLetters"] != 7.0 || line["OpenExceptions"] != 4.0 || line["repaired"] != 1.0 || line["Project"] != "acme" {
		t.Errorf("%v, %s", err, out.String())
	}
	r = &rounds{fail: errors.New("the store is throttled")}
	if _, err := function(r, &out, now.Add(time.Minute)).Handle(t.Context(), []byte(`{}`)); err == nil || fmt.Sprint(r.did) != "[watch catch up tell beat the store is throttled]" {
		t.Errorf("%v, did %v", err, r.did)
	}
}

// The end of an execution is looked at alone; children of a map are no runs.
func TestStatus(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		`{"source":"aws.states","detail":{"name":"crm-1a-g2","status":"FAILED"}}`:  "[run crm-1a]",
		`{"source":"aws.states","detail":{"name":"crm-1a-g2","status":"RUNNING"}}`: "[]",
		`{"source":"aws.states","detail":{"name":"4fd1","status":"FAILED"}}`:       "[]",
	} {
		r := &rounds{}
		if _, err := function(r, &bytes.Buffer{}, now).Handle(t.Context(), []byte(name)); err != nil || fmt.Sprint(r.did) != want {
			t.Errorf("%s: did %v, %v", name, r.did, err)
		}
	}
}

// letters is a dead-letter queue of mailer; reader has none.
type letters struct {
	bodies  []string
	deleted []string
	queue   string // empty: the mailer's
}

func (l *letters) GetQueueUrl(_ context.Context, in *sqs.GetQueueUrlInput, _ ...func(*sqs.Options)) (*sqs.GetQueueUrlOutput, error) {
	if *in.QueueName != cmp.Or(l.queue, "acme-mailer-dlq") {
		return nil, &types.QueueDoesNotExist{}
	}
	return &sqs.GetQueueUrlOutput{QueueUrl: in.QueueName}, nil
}

func (l *letters) GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error) {
	return &sqs.GetQueueAttributesOutput{Attributes: map[string]string{
		"ApproximateNumberOfMessages": "0", "ApproximateNumberOfMessagesNotVisible": fmt.Sprint(4 - len(l.deleted)),
	}}, nil
}

func (l *letters) ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	out := &sqs.ReceiveMessageOutput{}
	for i, body := range l.bodies {
		out.Messages = append(out.Messages, types.Message{MessageId: aws.String(fmt.Sprint(i)), ReceiptHandle: aws.String(fmt.Sprint(i)), Body: &body})
	}
	l.bodies = nil
	return out, nil
}

func (l *letters) DeleteMessage(_ context.Context, in *sqs.DeleteMessageInput, _ ...func(*sqs.Options)) (*sqs.DeleteMessageOutput, error) {
	l.deleted = append(l.deleted, *in.ReceiptHandle)
	return nil, nil
}

// What a queue has given up on is taken and deleted, whatever it holds; what is
// at work, or could not be taken, stays; no log shows a body (R39, R41).
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	l := &letters{bodies: []string{`{"run":"r","step":"send","token":"secret-token"}`, `{"run":"busy","step":"send","token":"secret-token"}`, `"secret-token"`, `fails`}}
	var log bytes.Buffer
	var taken []coordinator.Letter
	q := &watch.DeadLetters{
		Client: l, Name: func(worker string) string { return "acme-" + worker + "-dlq" }, Triggers: "acme-trigger-dlq",
		Workers: func(context.Context) ([]string, error) { return []string{"mailer", "reader"}, nil },
		Take: func(_ context.Context, letter coordinator.Letter) (bool, error) {
			if string(letter.Body) == "fails" {
				return false, errors.New("the store is throttled")
			}
			taken = append(taken, letter)
			return !strings.Contains(string(letter.Body), "busy"), nil
		},
		Log: slog.New(slog.NewJSONHandler(&log, nil)),
	}
	left, err := q.Look(t.Context())
	if err == nil || left != 2 || fmt.Sprint(l.deleted) != "[0 2]" || len(taken) != 3 {
		t.Errorf("%d left, %v, deleted %v, taken %v", left, err, l.deleted, taken)
	}
	if strings.Contains(log.String(), "secret-token") || strings.Contains(err.Error(), "secret-token") {
		t.Errorf("%v; log: %s", err, log.String())
	}
	if taken[2].Queue != "acme-mailer-dlq" || taken[2].ID != "2" || taken[2].Worker != "mailer" || taken[2].Why != "" {
		t.Errorf("taken %+v", taken[2])
	}
	l = &letters{bodies: []string{`{"webhook":{"body":{"paid":1}}}`}, queue: "acme-trigger-dlq"}
	taken = nil
	q = &watch.DeadLetters{Client: l, Name: q.Name, Triggers: q.Triggers, Workers: q.Workers, Take: q.Take, Log: q.Log}
	if _, err := q.Look(t.Context()); err != nil || len(taken) != 1 || taken[0].Worker != "" || !strings.Contains(taken[0].Why, "started no run") {
		t.Errorf("%v, taken %+v", err, taken)
	}
}
