package core

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/outerloop-dev/outerloop/functions/internal/machines"
	"github.com/outerloop-dev/outerloop/pkg/alert"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/registry"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Topic is what is called of *sns.Client.
type Topic interface {
	Publish(context.Context, *sns.PublishInput, ...func(*sns.Options)) (*sns.PublishOutput, error)
}

// Alerts keeps what people are to be told in the shared state, from where the
// watch sends it: over the channels of the group that it is for, and to one SNS
// topic beside them. Safe for concurrent use.
type Alerts struct {
	Store       store.Store
	Definitions *machines.Definitions
	// Client and Topic are the topic; without them there is none.
	Client Topic
	Topic  string
	// Channels opens the project's channels, for who sends; nil: messages for
	// them go to the log.
	Channels func(p *registry.Project) map[string]alert.Channel
	Now      func() time.Time
	Log      *slog.Logger

	mu   sync.Mutex
	desk *alert.Desk
	made time.Time
}

// deskFor is how long the project's people and channels are taken as they were read.
const deskFor = 5 * time.Minute

// Notify keeps an alert. One that cannot be kept is in the log.
func (a *Alerts) Notify(ctx context.Context, told coordinator.Alert) {
	desk, err := a.open(ctx)
	if err != nil {
		a.Log.ErrorContext(ctx, "an alert is not kept", "kind", told.Kind, "id", told.ID, "run", told.Run, "text", told.Text, "error", err)
		return
	}
	desk.Notify(ctx, told)
}

// Send sends what is due, with the daily summaries. from reads what they tell.
func (a *Alerts) Send(ctx context.Context, from alert.Readers) error {
	desk, err := a.open(ctx)
	if err != nil {
		return err
	}
	digest := desk.Digest(ctx, from, func(loop string) string { return a.owner(ctx, loop) })
	_, err = desk.Deliver(ctx)
	return errors.Join(digest, err)
}

func (a *Alerts) owner(ctx context.Context, loop string) string {
	hash, err := a.Definitions.Latest(ctx, loop)
	if err != nil {
		return ""
	}
	def, err := a.Definitions.Definition(ctx, hash)
	if err != nil {
		return ""
	}
	return def.Loop.Owner
}

// open makes a desk of the project file as it was deployed last.
func (a *Alerts) open(ctx context.Context) (*alert.Desk, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.desk != nil && a.Now().Sub(a.made) < deskFor {
		return a.desk, nil
	}
	p, err := a.project(ctx)
	if err != nil {
		return nil, err
	}
	cfg := alert.Config{Store: a.Store, Clock: a.Now, IDs: NewID, Project: p, Log: a.Log, Commands: "outerloop --target aws"}
	if a.Client != nil && a.Topic != "" {
		cfg.Also = alert.SNS(topic{a.Client, a.Topic})
	}
	if a.Channels != nil && p != nil {
		cfg.Channels = a.Channels(p)
	}
	a.desk, err = alert.New(cfg)
	a.made = a.Now()
	return a.desk, err
}

// project is that of any loop: all loops of a deployment share it.
func (a *Alerts) project(ctx context.Context) (*registry.Project, error) {
	names, err := a.Definitions.Loops(ctx)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	hash, err := a.Definitions.Latest(ctx, names[0])
	if err != nil {
		return nil, err
	}
	def, err := a.Definitions.Definition(ctx, hash)
	if err != nil {
		return nil, err
	}
	return def.Project, nil
}

// topic is an SNS topic as alerts want one.
type topic struct {
	client Topic
	arn    string
}

// Publish sends one text.
func (t topic) Publish(ctx context.Context, subject, text string, attributes map[string]string) error {
	in := &sns.PublishInput{TopicArn: &t.arn, Subject: &subject, Message: &text, MessageAttributes: map[string]types.MessageAttributeValue{}}
	for name, value := range attributes {
		in.MessageAttributes[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
	}
	if _, err := t.client.Publish(ctx, in); err != nil {
		return fmt.Errorf("publishing to the topic of alerts: %w", err)
	}
	return nil
}
