package exposure

import (
	"strconv"

	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/rule"
)

// tree is how sure it is that a value holds the sensitive field.
func (v view) tree(t *loop.Tree) level {
	if t == nil {
		return none
	}
	return v.refs(t.References(), t.Uses)
}

// refs is the highest level of what is read.
func (v view) refs(refs []rule.Ref, uses loop.Uses) level {
	found := none
	for _, ref := range refs {
		found = max(found, v.ref(ref, uses))
	}
	return found
}

func (v view) ref(ref rule.Ref, uses loop.Uses) level {
	path := plainPath(ref.Path)
	switch ref.Root {
	case "facts":
		return v.fact(path)
	case "input":
		return v.input(path)
	case "output":
		return v.own(path)
	case "about", "run", "event":
		return none
	}
	for _, n := range uses.Outputs {
		if n.Name == ref.Root {
			return view{v.trace, v.def, n}.own(path)
		}
	}
	for _, n := range uses.Items {
		if n.Step.Each.As == ref.Root {
			return v.item(n, path)
		}
	}
	return none
}

func (v view) fact(path []string) level {
	if len(path) == 0 || v.at == nil {
		return none
	}
	for _, read := range v.at.Reads {
		if read.Name != path[0] {
			continue
		}
		name := v.def.DeclaredFact(read.Fact)
		if name == v.origin.fact && overlap(path[1:], v.origin.path) {
			return certain
		}
		return v.facts[name]
	}
	return none
}

func (v view) input(path []string) level {
	if v.origin.loop == v.def.Loop.Name && v.origin.step == "" && v.origin.fact == "" && overlap(path, v.origin.path) {
		return certain
	}
	return v.inputs[v.def.Loop.Name]
}

// own is how sure it is that a path of the node's output holds the field.
func (v view) own(path []string) level {
	if v.origin.loop == v.def.Loop.Name && v.origin.step == v.at.Path && v.origin.step != "" {
		if overlap(path, v.origin.path) {
			return certain
		}
		return none
	}
	return v.outputs[v.key(v.at)]
}

// item is how sure it is that a path of a block's item holds the field. A list
// that is one reference keeps its paths; of any other, all may be in each item.
func (v view) item(block *loop.Node, path []string) level {
	list := block.Each.List
	refs := list.References()
	if len(refs) == 1 && refs[0].String() == list.Source() {
		whole := refs[0]
		whole.Path = append(append([]string{}, whole.Path...), path...)
		return view{v.trace, v.def, block}.ref(whole, list.Uses)
	}
	return min(view{v.trace, v.def, block}.refs(refs, list.Uses), possible)
}

// plainPath leaves out list positions: a field of any entry is the field.
func plainPath(path []string) []string {
	out := make([]string, 0, len(path))
	for _, part := range path {
		if _, err := strconv.Atoi(part); err != nil {
			out = append(out, part)
		}
	}
	return out
}

// overlap tells whether one path leads to or into the other. "*" is any field.
func overlap(a, b []string) bool {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] && a[i] != "*" && b[i] != "*" {
			return false
		}
	}
	return true
}
