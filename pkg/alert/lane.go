package alert

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// lane is what waits to be sent over one channel to one group about one
// incident, and until when it keeps quiet. Its message is the lines there were
// when it was taken in hand.
type lane struct {
	Group    string `json:"group"`
	Channel  string `json:"channel"`
	Incident string `json:"incident"`
	Waiting  []Line `json:"waiting,omitempty"`
	More     int    `json:"more,omitempty"`
	// Number counts the messages, for their ids.
	Number int `json:"number"`
	// Taken are how many of Waiting are in the message under way, TakenMore of More.
	Taken     int       `json:"taken,omitempty"`
	TakenMore int       `json:"taken_more,omitempty"`
	Tries     int       `json:"tries,omitempty"`
	Fault     string    `json:"fault,omitempty"`
	Quiet     time.Time `json:"quiet,omitzero"`
	// Due is when it is to be looked at; zero: nothing waits.
	Due time.Time `json:"due,omitzero"`

	stored int64
}

const (
	// duePart is the partition of the due index with the lanes that wait.
	duePart = "ALERTS"
	// gather is how long the first request of a run waits for others.
	gather = 30 * time.Second
	// keptFor is how long the store keeps what has been told.
	keptFor = 90 * 24 * time.Hour
)

func laneKey(group, channel, incident string) store.Key {
	return store.Key{Part: "ALERT#" + record.ShortID(group, channel, incident), Sort: "LANE"}
}

// toldKey marks an alert as kept for a group.
func toldKey(group, id string) store.Key {
	return store.Key{Part: "TOLD#" + record.ShortID(group, id), Sort: "TOLD"}
}

func decodeLane(item *store.Item) (*lane, error) {
	if item == nil {
		return nil, nil
	}
	l := &lane{stored: item.Version}
	if err := json.Unmarshal(item.Body, l); err != nil {
		return nil, fmt.Errorf("reading alerts %s: %w", item.Part, err)
	}
	return l, nil
}

// add takes a line in; what is too much is counted.
func (l *lane) add(line Line, now time.Time) {
	if len(l.Waiting) >= maxLines {
		l.More++
	} else {
		l.Waiting = append(l.Waiting, line)
	}
	if l.Due.IsZero() {
		l.Due = now
		if line.Kind == coordinator.KindRequest {
			l.Due = now.Add(gather)
		}
		if l.Quiet.After(l.Due) {
			l.Due = l.Quiet
		}
	}
}

// done takes the message under way out; the rest waits for the quiet period.
func (l *lane) done(now time.Time, quiet time.Duration) {
	l.Waiting, l.More = l.Waiting[l.Taken:], l.More-l.TakenMore
	l.Taken, l.TakenMore, l.Tries, l.Fault, l.Due = 0, 0, 0, "", time.Time{}
	l.Quiet = now.Add(quiet)
	if len(l.Waiting) > 0 || l.More > 0 {
		l.Due = l.Quiet
	}
}

func (l *lane) put() (store.Op, error) {
	body, err := json.Marshal(l)
	if err != nil {
		return store.Op{}, fmt.Errorf("writing alerts: %w", err)
	}
	key := laneKey(l.Group, l.Channel, l.Incident)
	item := store.Item{Key: key, Version: l.stored, Body: body}
	if !l.Due.IsZero() {
		item.Due = &store.IndexKey{Part: duePart, Sort: store.TimeKey(l.Due) + "#" + key.Part}
	} else {
		item.Expires = l.Quiet.Add(keptFor).Unix()
	}
	if l.stored == 0 {
		return store.Create(item), nil
	}
	return store.Replace(item), nil
}
