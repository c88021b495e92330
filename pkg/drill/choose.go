package drill

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/rule"
)

// reviewSuffix ends the path of a reviewer's own step.
const reviewSuffix = ".review"

// choices is how many values are made for one call before the last is taken,
// whether its rules hold or not.
const choices = 1500

// answers are the outputs that were chosen, so that every world of a drill plays the same.
type answers struct {
	mu   sync.Mutex
	kept map[string]json.RawMessage
}

func (a *answers) get(key string) (json.RawMessage, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	raw, ok := a.kept[key]
	return raw, ok
}

func (a *answers) put(key string, raw json.RawMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kept == nil {
		a.kept = map[string]json.RawMessage{}
	}
	a.kept[key] = raw
}

// choose makes an output that fits the worker's schema and, where one is found,
// the step's own conditions and limits, or the review's.
func (c *cast) choose(t call, declared *loop.Worker) json.RawMessage {
	variant := c.script[t.worker]
	key := fmt.Sprintf("%s %s %s %d %s", t.worker, t.Loop, t.Step, variant, t.Task.Task.Input)
	raw, known := c.world.d.answers.get(key)
	if !known {
		raw = c.search(t, declared, variant)
		c.world.d.answers.put(key, raw)
	}
	c.world.ledger.put(t.Loop+" "+t.Step, raw)
	return raw
}

func (c *cast) search(t call, declared *loop.Worker, variant uint64) json.RawMessage {
	f := c.find(t)
	var last json.RawMessage
	for n := range uint64(choices) {
		raw, fits := example(declared.Output, wish{variant: variant*choices + n, now: c.world.begun, pool: f.pool})
		if last == nil {
			last = raw
		}
		if !fits {
			continue
		}
		if value, faults := declared.Output.Check(raw); len(faults) == 0 && f.holds(value) {
			return raw
		}
	}
	return last
}

// finding is what is known of a call's rules and of what they read.
type finding struct {
	rules []*loop.Rule
	vars  rule.Vars
	// loops and works are `input` in rules of the loop and of the charter.
	loops, works any
	verdict      bool
	pool         pool
}

var (
	quoted = regexp.MustCompile(`"([^"\\]*)"`)
	whole  = regexp.MustCompile(`\b\d{1,3}\b`)
)

// find collects the rules that a call's output must meet.
func (c *cast) find(t call) *finding {
	f := &finding{vars: rule.Vars{}}
	_ = json.Unmarshal(t.Task.Task.Input, &f.works)
	_ = json.Unmarshal(c.world.in, &f.loops)
	f.pool.add(f.works)
	n := c.world.node(t.Loop, strings.TrimSuffix(t.Step, reviewSuffix))
	if n == nil {
		return f
	}
	if strings.HasSuffix(t.Step, reviewSuffix) && n.Review != nil {
		f.verdict, f.rules = true, []*loop.Rule{n.Review.Pass}
	} else {
		for _, a := range n.Accept {
			f.rules = append(f.rules, a.Rule)
		}
		for _, l := range n.Limits {
			if !l.Before {
				f.rules = append(f.rules, l.Rule)
			}
		}
	}
	for _, r := range f.rules {
		for _, m := range quoted.FindAllStringSubmatch(r.Source(), -1) {
			f.pool.words = append(f.pool.words, m[1])
		}
		for _, m := range whole.FindAllString(r.Source(), -1) {
			if size, err := strconv.Atoi(m); err == nil {
				f.pool.sizes = append(f.pool.sizes, size)
			}
		}
		for _, read := range r.Uses.Outputs {
			c.reads(t, f, read)
		}
	}
	return f
}

// reads binds what another step has put out.
func (c *cast) reads(t call, f *finding, n *loop.Node) {
	raw, known := c.world.ledger.output(t.Loop + " " + n.Path)
	if !known || n.Worker == nil {
		return
	}
	if value, faults := n.Worker.Output.Check(raw); len(faults) == 0 {
		f.vars[n.Name] = value
		f.pool.add(value)
		f.pool.sizes = append(f.pool.sizes, lengths(value)...)
	}
}

// lengths are how long the lists in a value are.
func lengths(value any) []int {
	var out []int
	switch v := value.(type) {
	case []any:
		out = append(out, len(v))
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = append(out, lengths(v[name])...)
		}
	}
	return out
}

// holds tells whether all rules hold; what cannot be evaluated here is left to the gate.
func (f *finding) holds(output any) bool {
	for _, r := range f.rules {
		vars := maps.Clone(f.vars)
		vars["output"], vars["confidence"], vars["unresolved"] = output, "high", []any{}
		vars["evidence"] = []any{map[string]any{"claim": "x", "source": "input"}, map[string]any{"claim": "x", "source": "action:x"}}
		if f.verdict {
			vars["verdict"] = output
		}
		switch {
		case r.Uses.Work:
			vars["input"] = f.works
		case r.Uses.Input:
			vars["input"] = f.loops
		}
		if ok, err := r.EvalBool(context.Background(), vars); err == nil && !ok {
			return false
		}
	}
	return true
}

// pool is what made values may be taken from.
type pool struct {
	words []string
	sizes []int
	// named are values by the name of their field.
	named map[string]any
}

// add takes all named values and words of a value in.
func (p *pool) add(value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if p.named == nil {
				p.named = map[string]any{}
			}
			if _, known := p.named[name]; !known {
				p.named[name] = v[name]
			}
			p.add(v[name])
		}
	case []any:
		for _, one := range v {
			p.add(one)
		}
	case string:
		p.words = append(p.words, v)
	}
}
