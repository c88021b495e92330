package sim

import (
	"context"
	"encoding/json"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

const (
	// visibility is how long a delivery is hidden, and how long a function may run.
	visibility = 90 * time.Second
	// receives is how often a message is given out before it is dead.
	receives = 400
)

// message is a delivery in a queue, or a direct call of a worker.
type message struct {
	worker string
	body   json.RawMessage
	state  waiting
	direct bool
	// tool: it is a call within another worker's attempt; nobody waits at its end but the caller.
	tool bool

	received int
	// hidden numbers the times it was hidden: an older one ends nothing.
	hidden   int
	done     bool
	dead     bool
	poisoned bool
}

// String names what it is about.
func (m *message) String() string {
	var d gate.Delivery
	_ = json.Unmarshal(m.body, &d)
	return d.Step + bracket(d.Item) + " for " + m.worker
}

// send puts a message into its queue: once, twice, or for a long time.
func (s *Sim) send(m *message) {
	delay := s.latency()
	if !m.direct {
		switch {
		case s.window("message sent twice"):
			copied := *m
			s.after(delay+s.latency(), func() { s.deliver(&copied) })
		case s.window("message waits longer than any clock"):
			delay += time.Duration(1+s.random.IntN(300)) * time.Minute
		case s.window("dead-lettered before admit"):
			m.poisoned, m.received = true, receives-3
		}
	}
	s.after(delay, func() { s.deliver(m) })
}

// deliver gives a message to a worker, if it is still there.
func (s *Sim) deliver(m *message) {
	switch {
	case m.done || m.dead:
		return
	case !m.direct && m.received >= receives:
		m.dead = true
		s.log("%s is dead-lettered", m)
		return
	}
	s.give(m)
	if !m.direct && s.window("message delivered twice") {
		s.give(m)
	}
	s.hide(m, s.now.Add(visibility))
}

// hide makes a message visible again at a time, whatever was said before.
func (s *Sim) hide(m *message, until time.Time) {
	if m.direct || m.tool {
		return
	}
	m.hidden++
	n := m.hidden
	s.at(until, func() {
		if m.hidden == n {
			s.deliver(m)
		}
	})
}

func (s *Sim) give(m *message) {
	m.received++
	v := &invocation{s: s, m: m, request: "req" + s.id(), skew: s.skew()}
	if err := json.Unmarshal(m.body, &v.delivery); err != nil {
		panic(err)
	}
	v.limit = s.now.Add(visibility)
	v.actor = s.spawn(s.latency(), v.request+" "+m.String(), v.run)
	v.actor.work, v.actor.gen, v.actor.run = v, v.delivery.Gen, v.delivery.Run
	if m.direct { // the engine waits no longer than the function may run
		s.at(v.limit, func() { v.answerDirect(nil, "Sandbox.Timedout", "the function timed out") })
	}
}

// deliverOutside hands a delivery to a worker outside of any machine.
func (s *Sim) deliverOutside(_ context.Context, worker string, d gate.Delivery) error {
	s.wait(s.latency())
	if s.draw(CrashAtEngine, 60) {
		panic(died{})
	}
	raw, err := json.Marshal(d)
	if err != nil {
		return err
	}
	s.send(&message{worker: worker, body: raw})
	return nil
}

// answerDirect tells the engine what a direct call came to, once.
func (v *invocation) answerDirect(note json.RawMessage, name, cause string) {
	m := v.m
	if m.done || !m.direct {
		return
	}
	m.done = true
	ev := answerOf(note, nil)
	if name != "" {
		ev = asl.Event{Kind: asl.TaskFailed, Error: &name, Cause: &cause}
	}
	ev.Task = m.state.task
	v.s.after(v.s.latency(), func() { v.s.apply(m.state.run, ev) })
}
