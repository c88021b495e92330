package asl

import (
	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// maxInline is how many iterations of an inline Map run at a time on AWS.
const maxInline = 40

// maxChildren is how many children of a distributed Map run at a time where
// MaxConcurrency does not say.
const maxChildren = 1000

// startMap runs a Map state.
func (t *transition) startMap(f *flow) {
	spec := f.state.mapping
	input, _, bad := t.effectiveInput(f)
	if bad != nil {
		t.fail(f, *bad)
		return
	}
	s := &scope{input: input, flow: f, run: t}
	concurrency, bad := t.mapConcurrency(s, spec)
	var items [][]byte
	if bad == nil {
		items, bad = t.mapItems(s, spec)
	}
	if bad != nil {
		t.fail(f, *bad)
		return
	}
	length := len(items)
	t.record(f, startedType(typeMap), &HistoryDetails{Length: &length})
	g := &group{Concurrency: concurrency}
	if bad = t.mapTolerance(s, spec, g); bad == nil && spec.batch != nil {
		items, bad = t.batches(s, spec.batch, items)
	}
	if bad != nil {
		t.fail(f, *bad)
		return
	}
	g.Total = len(items)
	g.Items = make([]rawMessage, len(items))
	for i, e := range items {
		g.Items[i] = e
	}
	if f.state.parameters != nil && spec.batch == nil {
		g.Input = input
	}
	f.Group = g
	if spec.distributed {
		t.startMapRun(f)
	}
	if g.Total == 0 {
		t.joinMap(f)
		return
	}
	t.startIterations(f)
}

// mapItems evaluates ItemsPath.
func (t *transition) mapItems(s *scope, spec *mapSpec) ([][]byte, *fault) {
	v := s.input
	if spec.itemsPath != nil {
		var err error
		if v, err = spec.itemsPath.eval(s); err != nil {
			return nil, t.itemsFault(s, spec.itemsPath, err)
		}
	}
	switch {
	case rawjson.KindOf(v) == rawjson.Array:
		return rawjson.Split(v), nil
	case spec.itemsPath == nil:
		ft := t.runtimeFault(s.flow, "Map state input must be an array but was: %s", v)
		return nil, &ft
	}
	ft := t.runtimeFault(s.flow, "Reference path \"%s\" must point to array.", spec.itemsPath)
	return nil, &ft
}

// itemsFault words the error of an ItemsPath that leads nowhere.
func (t *transition) itemsFault(s *scope, e expression, err error) *fault {
	p, ok := e.(*pathExpression)
	if !ok || p.source != fromInput {
		return t.pathFault(s.flow, e.String(), err)
	}
	return conflict(p.text, p.path, s.input)
}

func (t *transition) mapConcurrency(s *scope, spec *mapSpec) (int, *fault) {
	ceiling := int64(maxInline)
	if spec.distributed {
		ceiling = maxChildren
	}
	n := spec.concurrency.value
	if spec.concurrency.path != nil {
		v, err := spec.concurrency.path.eval(s)
		if err != nil {
			return 0, t.pathFault(s.flow, spec.concurrency.text, err)
		}
		k, ok := rawjson.Int(v)
		if !ok {
			ft := t.runtimeFault(s.flow, "The MaxConcurrencyPath field refers to value \"%s\" which is not a valid integer: %s", shown(v), spec.concurrency.text)
			return 0, &ft
		}
		if k < 0 {
			ft := t.runtimeFault(s.flow, "Expected non-negative integer for MaxConcurrency, got '%d' instead.", k)
			return 0, &ft
		}
		n = k
	}
	if n == 0 || n > ceiling && !spec.distributed {
		n = ceiling
	}
	return int(min(n, 1<<20)), nil
}

// mapTolerance evaluates the tolerated failures.
func (t *transition) mapTolerance(s *scope, spec *mapSpec, g *group) *fault {
	if spec.tolerateCount.set() {
		v, bad := t.number(s, spec.tolerateCount)
		if bad != nil {
			return bad
		}
		n, ok := rawjson.Int(v)
		if !ok {
			ft := t.runtimeFault(s.flow, "The ToleratedFailureCountPath field refers to value \"%s\" which is not a valid integer: %s", shown(v), spec.tolerateCount.text)
			return &ft
		}
		if n < 0 {
			ft := t.runtimeFault(s.flow, "ToleratedFailureCount cannot be negative.")
			return &ft
		}
		g.TolerateCount = &n
	}
	if spec.toleratePart.set() {
		v, bad := t.number(s, spec.toleratePart)
		if bad != nil {
			return bad
		}
		if rawjson.KindOf(v) != rawjson.Number {
			ft := t.runtimeFault(s.flow, "The ToleratedFailurePercentagePath field refers to value \"%s\" which is not a valid float: %s", shown(v), spec.toleratePart.text)
			return &ft
		}
		part := rawjson.Float(v)
		if !(part >= 0 && part <= 100) {
			ft := t.runtimeFault(s.flow, "ToleratedFailurePercentage must be between 0 and 100.")
			return &ft
		}
		g.ToleratePart = &part
	}
	return nil
}

func (t *transition) number(s *scope, n numberField) ([]byte, *fault) {
	if n.path == nil {
		return n.value, nil
	}
	v, err := n.path.eval(s)
	if err != nil {
		return nil, t.pathFault(s.flow, n.text, err)
	}
	return v, nil
}

// tolerates reports whether a Map goes on with so many failures: neither limit
// may be passed; without any, there may be none.
func (g *group) tolerates(failed int) bool {
	if g.TolerateCount == nil && g.ToleratePart == nil {
		return failed == 0
	}
	if g.TolerateCount != nil && int64(failed) > *g.TolerateCount {
		return false
	}
	return g.ToleratePart == nil || float64(failed)*100 <= *g.ToleratePart*float64(g.Total)
}

// startIterations starts as many iterations or children as may run.
func (t *transition) startIterations(f *flow) {
	g := f.Group
	for g.Next < g.Total && len(g.Flows)+len(g.Children) < g.Concurrency && !t.overflow {
		item := g.Items[0]
		index := g.Next
		g.Items = g.Items[1:]
		g.Next++
		input := []byte(item)
		if f.state.parameters != nil && f.state.mapping.batch == nil {
			s := &scope{input: g.Input, flow: f, run: t, item: mapItem(index, item)}
			var bad *fault
			if input, bad = t.evalTemplate(s, f.state.parameters); bad != nil {
				t.abandonGroup(f, true)
				t.fail(f, *bad)
				return
			}
		}
		if f.state.mapping.distributed {
			t.startChild(f, index, input)
			continue
		}
		branch := &flow{parent: f, Index: index, Item: item, Last: f.Last, Input: input}
		g.Flows = append(g.Flows, branch)
		t.record(branch, historyIterationStarted, iteration(f, index))
		t.later(branch, func(t *transition, branch *flow) {
			t.enter(branch, f.state.mapping.body.start, branch.Input)
		})
	}
}
