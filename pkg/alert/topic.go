package alert

import (
	"context"
	"encoding/json"
	"fmt"
)

// Topic publishes to whoever has subscribed, as an SNS topic does. The
// publisher itself lives with the functions on AWS.
type Topic interface {
	// Publish sends one text. Subject is one line of ASCII, at most 100 bytes.
	// Attributes are for the subscribers' filters.
	Publish(ctx context.Context, subject, text string, attributes map[string]string) error
}

// SNS is a topic as a channel: people get the text; programs that subscribe
// find the whole message as JSON in the attribute "message" while it is small,
// with "group" and "id" beside it.
func SNS(t Topic) Channel { return topic{t} }

type topic struct{ to Topic }

const (
	topicSubject   = 99
	topicAttribute = 8 << 10
)

// Send publishes the message once.
func (c topic) Send(ctx context.Context, m Message) error {
	ctx, cancel := context.WithTimeout(ctx, sendWithin)
	defer cancel()
	attributes := map[string]string{"group": m.Group, "id": m.ID, "kind": m.Lines[0].Kind}
	if m.Group == "" {
		delete(attributes, "group") // SNS takes no empty value
	}
	if raw, err := json.Marshal(m); err == nil && len(raw) <= topicAttribute {
		attributes["message"] = string(raw)
	}
	if err := c.to.Publish(ctx, ascii(m.Subject, topicSubject), m.Text(), attributes); err != nil {
		return fmt.Errorf("publishing the alert: %w", err)
	}
	return nil
}

// ascii is a text that a subject of SNS may be: no control characters, nothing beyond ASCII.
func ascii(text string, limit int) string {
	out := make([]byte, 0, limit)
	for _, r := range text {
		if len(out) == limit {
			break
		}
		if r < ' ' || r > '~' {
			r = '?'
		}
		out = append(out, byte(r))
	}
	return string(out)
}
