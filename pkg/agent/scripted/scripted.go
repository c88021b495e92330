// Package scripted is a model that answers from a recorded script: for tests,
// and for samples that run without a network. It says so wherever it is seen:
// the model it reports is named "scripted:" and the script's name.
//
// Matching is strict: a request that is not in the script, byte for byte as it
// was recorded, is an error, so that a changed prompt cannot be answered by
// chance.
package scripted

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Format is what the first field of a script says.
const Format = "outerloop scripted model, 1"

// Script is a recording. Its JSON is the file's form.
type Script struct {
	Format string `json:"format"`
	// Name says what was recorded; it is part of the model's reported name.
	Name      string     `json:"name"`
	Exchanges []Exchange `json:"exchanges"`
}

// Exchange is one request and what it was answered.
type Exchange struct {
	// Digest is Request.Digest(); Load checks it.
	Digest  string        `json:"digest"`
	Request agent.Request `json:"request"`
	// Replies are given one after the other each time the request comes; the
	// last one stays.
	Replies []Reply `json:"replies"`
}

// Reply is an answer, or a failure of a class.
type Reply struct {
	Answer  *agent.Answer `json:"answer,omitempty"`
	Failure *Failure      `json:"failure,omitempty"`
}

// Failure is a failed call.
type Failure struct {
	Class   outerloop.Class `json:"class"`
	Message string          `json:"message"`
	// RetryAfter is in seconds from the call; 0: none.
	RetryAfter int `json:"retry_after,omitempty"`
}

// ErrNotRecorded says that a script has no reply to a request.
var ErrNotRecorded = errors.New("the script has no such request")

// Model answers from a script. It is safe for concurrent use.
type Model struct {
	name string
	now  func() time.Time

	mu      sync.Mutex
	replies map[string][]Reply
	asked   map[string]int
}

// Load reads a script and checks that each digest is its request's.
func Load(raw []byte) (*Script, error) {
	var s Script
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return nil, fmt.Errorf("reading a script: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("reading a script: there is text after its end")
	}
	return &s, s.check()
}

func (s *Script) check() error {
	if s.Format != Format || s.Name == "" {
		return fmt.Errorf("reading a script: it must say format %q and a name", Format)
	}
	seen := map[string]bool{}
	for i, e := range s.Exchanges {
		switch {
		case e.Digest != e.Request.Digest():
			return fmt.Errorf("script %s: exchange %d: the request was changed after it was recorded: its digest is %s", s.Name, i+1, e.Request.Digest())
		case seen[e.Digest]:
			return fmt.Errorf("script %s: exchange %d repeats a request; put its replies into one exchange", s.Name, i+1)
		case len(e.Replies) == 0:
			return fmt.Errorf("script %s: exchange %d has no replies", s.Name, i+1)
		}
		for _, r := range e.Replies {
			if (r.Answer == nil) == (r.Failure == nil) {
				return fmt.Errorf("script %s: exchange %d: a reply is either an answer or a failure", s.Name, i+1)
			}
		}
		seen[e.Digest] = true
	}
	return nil
}

// New makes a model of a script; now is the clock of Retry-After, nil: time.Now.
func New(s *Script, now func() time.Time) (*Model, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if now == nil {
		now = time.Now
	}
	m := &Model{name: "scripted:" + s.Name, now: now, replies: map[string][]Reply{}, asked: map[string]int{}}
	for _, e := range s.Exchanges {
		m.replies[e.Digest] = e.Replies
	}
	return m, nil
}

// Ask gives the recorded reply. A request that was not recorded is a fatal
// error around ErrNotRecorded with its digest.
func (m *Model) Ask(ctx context.Context, req agent.Request) (agent.Answer, error) {
	if err := ctx.Err(); err != nil {
		return agent.Answer{}, agent.Interrupted(ctx, m.name, err)
	}
	digest := req.Digest()
	reply, ok := m.next(digest)
	if !ok {
		return agent.Answer{}, worker.Fatal("asking %s: %w (digest %s): the prompt or its input has changed since the script was recorded", m.name, ErrNotRecorded, digest)
	}
	if f := reply.Failure; f != nil {
		return agent.Answer{}, f.error(m.name, m.now())
	}
	answer := *reply.Answer
	answer.Usage.Model = m.name
	return answer, nil
}

func (m *Model) next(digest string) (Reply, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	replies := m.replies[digest]
	if len(replies) == 0 {
		return Reply{}, false
	}
	at := min(m.asked[digest], len(replies)-1)
	m.asked[digest]++
	return replies[at], true
}

func (f *Failure) error(name string, now time.Time) error {
	var at time.Time
	if f.RetryAfter > 0 {
		at = now.Add(time.Duration(f.RetryAfter) * time.Second)
	}
	return agent.Failed(f.Class, at, "asking %s: %s", name, f.Message)
}
