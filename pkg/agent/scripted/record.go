package scripted

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Func is a model made of a function: the author of a script, or a test's.
type Func func(ctx context.Context, req agent.Request) (agent.Answer, error)

// Ask calls the function.
func (f Func) Ask(ctx context.Context, req agent.Request) (agent.Answer, error) { return f(ctx, req) }

// Recorder passes requests on to a model and keeps the exchanges. It is safe
// for concurrent use.
type Recorder struct {
	name  string
	model agent.Model

	mu   sync.Mutex
	kept map[string]*Exchange
}

// Record starts a recording of a model under a name.
func Record(name string, model agent.Model) *Recorder {
	return &Recorder{name: name, model: model, kept: map[string]*Exchange{}}
}

// Ask asks the model and keeps request and reply. What ended because the
// caller's context did is not kept.
func (r *Recorder) Ask(ctx context.Context, req agent.Request) (agent.Answer, error) {
	answer, err := r.model.Ask(ctx, req)
	reply := Reply{Answer: &answer}
	if err != nil {
		if ctx.Err() != nil {
			return answer, err
		}
		failure := worker.FailureOf(err)
		reply = Reply{Failure: &Failure{Class: failure.Class, Message: failure.Message}}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	digest := req.Digest()
	if r.kept[digest] == nil {
		r.kept[digest] = &Exchange{Digest: digest, Request: req}
	}
	r.kept[digest].Replies = append(r.kept[digest].Replies, reply)
	return answer, err
}

// Script is what was recorded so far, ordered by digest, so that recording
// again gives the same file.
func (r *Recorder) Script() *Script {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &Script{Format: Format, Name: r.name, Exchanges: []Exchange{}}
	for _, e := range r.kept {
		s.Exchanges = append(s.Exchanges, Exchange{e.Digest, e.Request, slices.Clone(e.Replies)})
	}
	slices.SortFunc(s.Exchanges, func(a, b Exchange) int { return strings.Compare(a.Digest, b.Digest) })
	return s
}

// Encode writes a script as Load reads it.
func (s *Script) Encode() ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		return nil, fmt.Errorf("writing script %s: %w", s.Name, err)
	}
	return buf.Bytes(), nil
}
