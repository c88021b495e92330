package asl

import "slices"

// resolve puts states where their names stand and reports targets that do not
// exist and states that nothing leads to.
func (l *loader) resolve(b *block) {
	reached := map[*state]bool{}
	var todo []*state
	reach := func(s *state) {
		if s != nil && !reached[s] {
			reached[s] = true
			todo = append(todo, s)
		}
	}
	for _, s := range b.states {
		s.eachTarget(func(field string, to **state) { l.target(b, field, to) })
	}
	reach(b.start)
	for len(todo) > 0 {
		s := todo[0]
		todo = todo[1:]
		s.eachTarget(func(_ string, to **state) { reach(*to) })
	}
	for _, s := range b.states {
		if b.start != nil && !reached[s] {
			l.report(codeTarget, s.path, "State \"%s\" is not reachable.", s.name)
		}
		for _, inner := range s.blocks() {
			l.resolve(inner)
		}
	}
}

// target replaces a name by the state of that name.
func (l *loader) target(b *block, field string, to **state) {
	named := *to
	if named == nil {
		return
	}
	if *to = b.state(named.name); *to == nil {
		l.report(codeTarget, named.path, "Missing '%s' target: %s", field, named.name)
	}
}

// eachTarget calls fn for each place where a state names the one that follows.
func (s *state) eachTarget(fn func(field string, to **state)) {
	fn("Next", &s.next)
	if s.choice != nil {
		for i := range s.choice.rules {
			fn("Next", &s.choice.rules[i].next)
		}
		fn("Default", &s.choice.fallback)
	}
	for i := range s.catch {
		fn("Next", &s.catch[i].next)
	}
}

// blocks returns the blocks inside of a state.
func (s *state) blocks() []*block {
	if s.mapping != nil && s.mapping.body != nil {
		return []*block{s.mapping.body}
	}
	return s.branches
}

// addProcessors makes the machines of distributed Maps.
func (m *Machine) addProcessors(b *block) {
	for _, s := range b.states {
		for _, inner := range s.blocks() {
			m.addProcessors(inner)
		}
		if s.mapping == nil || !s.mapping.distributed {
			continue
		}
		m.processors[s.name] = &Machine{
			kind: s.mapping.childType, definition: m.definition, comment: m.comment,
			block: s.mapping.body, states: m.states, processors: m.processors, resources: m.resources,
		}
	}
}

// scopes checks variables: each is assigned in some block around its use, and
// no block assigns one of a block around it.
func (l *loader) scopes(b *block, outer []string) {
	own := b.assigned()
	visible := append(slices.Clone(outer), own...)
	for _, s := range b.states {
		s.eachAssign(func(t *template) {
			for _, name := range t.names() {
				if slices.Contains(outer, name) {
					l.schema(s.path+"/Assign", "Variable '%s' is assigned in an outer scope", name)
				}
			}
		})
		reported := map[string]bool{}
		s.variables(func(name string) {
			if !slices.Contains(visible, name) && !reported[name] {
				reported[name] = true
				l.schema(s.path, "Variable '%s' is not assigned in this scope", name)
			}
		})
		for _, inner := range s.blocks() {
			if s.mapping != nil && s.mapping.distributed {
				l.scopes(inner, nil)
			} else {
				l.scopes(inner, visible)
			}
		}
	}
}

// assigned returns the names that the block's own states assign.
func (b *block) assigned() []string {
	var names []string
	for _, s := range b.states {
		s.eachAssign(func(t *template) { names = append(names, t.names()...) })
	}
	return names
}

func (s *state) eachAssign(fn func(*template)) {
	list := []*template{s.assign}
	if s.choice != nil {
		for _, r := range s.choice.rules {
			list = append(list, r.assign)
		}
	}
	for _, c := range s.catch {
		list = append(list, c.assign)
	}
	for _, t := range list {
		if t != nil {
			fn(t)
		}
	}
}

// variables calls fn for every variable that the state reads.
func (s *state) variables(fn func(string)) {
	for _, e := range s.expressions() {
		if e != nil {
			e.variables(fn)
		}
	}
	for _, t := range []*template{s.parameters, s.selector} {
		if t != nil {
			t.variables(fn)
		}
	}
	s.eachAssign(func(t *template) { t.variables(fn) })
	if s.choice != nil {
		for _, r := range s.choice.rules {
			if r.test != nil {
				r.test.variables(fn)
			}
		}
	}
}

func (s *state) expressions() []expression {
	var list []expression
	for _, p := range []*pathField{s.inputPath, s.outputPath} {
		if p != nil {
			list = append(list, p.expr)
		}
	}
	if t := s.task; t != nil {
		list = append(list, t.timeout.path, t.heartbeat.path)
	}
	if w := s.wait; w != nil {
		list = append(list, w.secondsPath, w.atPath)
	}
	if f := s.fail; f != nil {
		list = append(list, f.errPath, f.causePath)
	}
	if m := s.mapping; m != nil {
		list = append(list, m.itemsPath, m.concurrency.path, m.tolerateCount.path, m.toleratePart.path)
	}
	return list
}
