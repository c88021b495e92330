package core_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/outerloop-dev/outerloop/functions/internal/boot"
	"github.com/outerloop-dev/outerloop/functions/internal/core"
	"github.com/outerloop-dev/outerloop/functions/internal/gatewire"
	"github.com/outerloop-dev/outerloop/functions/internal/machines"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/store/dynamostore"
	"github.com/outerloop-dev/outerloop/pkg/store/storetest/dynamofake"
)

// cloud is SNS and Lambda.
type cloud struct {
	published []*sns.PublishInput
	invoked   []*lambda.InvokeInput
	answer    *lambda.InvokeOutput
	fail      error
}

func (c *cloud) Publish(_ context.Context, in *sns.PublishInput, _ ...func(*sns.Options)) (*sns.PublishOutput, error) {
	c.published = append(c.published, in)
	return &sns.PublishOutput{}, c.fail
}

func (c *cloud) Invoke(_ context.Context, in *lambda.InvokeInput, _ ...func(*lambda.Options)) (*lambda.InvokeOutput, error) {
	c.invoked = append(c.invoked, in)
	return c.answer, c.fail
}

var now = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)

func open(t *testing.T, c *cloud, table *dynamofake.Fake) *core.Core {
	t.Helper()
	db, err := dynamostore.New(dynamostore.Config{Client: table, Table: "acme", Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	made, err := core.New(core.Parts{
		Settings: boot.Settings{Project: "acme", AlertTopic: "arn:topic"}, Store: db, Machines: struct{ machines.StepFunctions }{},
		Lambda: c, Topic: c, Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// An alert that one function keeps is sent by another, once, to the topic (R57).
func TestAlerts(t *testing.T) {
	t.Parallel()
	c, table := &cloud{}, dynamofake.New("acme")
	told := coordinator.Alert{To: "operations", Kind: coordinator.KindException, ID: "x-1", Loop: "crm", Run: "crm-1", Step: "scan", Text: "The file is broken."}
	open(t, c, table).Alerts.Notify(t.Context(), told)
	open(t, c, table).Alerts.Notify(t.Context(), told)
	if len(c.published) != 0 {
		t.Error("it was sent by who told it")
	}
	watch := open(t, c, table)
	for range 2 {
		if err := watch.Alerts.Send(t.Context(), watch.Coordinator); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.published) != 1 || !strings.Contains(*c.published[0].Message, "The file is broken.") || *c.published[0].TopicArn != "arn:topic" || *c.published[0].MessageAttributes["group"].StringValue != "operations" {
		t.Errorf("published %d: %+v", len(c.published), c.published)
	}
}

// A delivery is handed over without waiting; a probe is asked and answers.
func TestWorkers(t *testing.T) {
	t.Parallel()
	c := &cloud{answer: &lambda.InvokeOutput{Payload: []byte(`{"output":{"low":[]}}`)}}
	w := open(t, c, dynamofake.New("acme")).Workers
	if err := w.Deliver(t.Context(), "ledger", gate.Delivery{Run: "r", Gen: 1, Step: "undo"}); err != nil {
		t.Fatal(err)
	}
	out, err := w.Probe(t.Context(), "stock-level", gatewire.Probe{Task: gate.Task{Worker: "stock-level"}})
	if err != nil || string(out) != `{"low":[]}` {
		t.Errorf("%s, %v", out, err)
	}
	if c.invoked[0].InvocationType != types.InvocationTypeEvent || *c.invoked[0].FunctionName != "acme-worker-ledger" ||
		c.invoked[1].InvocationType != types.InvocationTypeRequestResponse || !json.Valid(c.invoked[1].Payload) {
		t.Errorf("%+v", c.invoked)
	}
	c.answer = &lambda.InvokeOutput{FunctionError: aws.String("Unhandled"), Payload: []byte(`{"errorType":"Worker.ToolFailed","errorMessage":"the list is not there"}`)}
	var failure *gatewire.FunctionFailure
	if _, err := w.Probe(t.Context(), "stock-level", gatewire.Probe{}); !errors.As(err, &failure) || failure.Type != "Worker.ToolFailed" {
		t.Errorf("%v", err)
	}
	if _, err := (core.Workers{}).Probe(t.Context(), "stock-level", gatewire.Probe{}); err == nil {
		t.Error("a function without Lambda called a worker")
	}
}
