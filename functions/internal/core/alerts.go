package core

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

// Topic is what is called of *sns.Client.
type Topic interface {
	Publish(context.Context, *sns.PublishInput, ...func(*sns.Options)) (*sns.PublishOutput, error)
}

// Alerts tells people over one SNS topic, and the log.
type Alerts struct {
	Client Topic
	Topic  string
	Log    *slog.Logger
}

// subjectLimit is the longest subject of a message in characters, which must be ASCII.
const subjectLimit = 99

// Notify sends an alert. One that cannot be sent is in the log.
func (a Alerts) Notify(ctx context.Context, alert coordinator.Alert) {
	log := a.Log.With("alert", alert.Kind, "id", alert.ID, "run", alert.Run, "step", alert.Step, "to", alert.To)
	log.WarnContext(ctx, "alert")
	if a.Client == nil || a.Topic == "" {
		return
	}
	body, err := json.Marshal(map[string]string{
		"to": alert.To, "kind": alert.Kind, "id": alert.ID, "run": alert.Run, "step": alert.Step, "text": alert.Text,
	})
	if err == nil {
		_, err = a.Client.Publish(ctx, &sns.PublishInput{
			TopicArn: &a.Topic, Message: aws.String(string(body)), Subject: aws.String(subject(alert)),
		})
	}
	if err != nil {
		log.ErrorContext(ctx, "the alert was not sent", "error", err)
	}
}

func subject(alert coordinator.Alert) string {
	text := []byte("outerloop: " + alert.Kind + " " + alert.Run + " " + alert.Step)
	for i, c := range text {
		if c < ' ' || c > '~' {
			text[i] = '_'
		}
	}
	return string(text[:min(len(text), subjectLimit)])
}
