package loop

import (
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// action resolves the business action of a step.
func (c *checker) action(n *Node) {
	s := n.Step
	if s.Action == "" {
		for _, key := range []string{"key", "resource"} {
			if s.Source.Get(key) != nil {
				c.fault(s.Source.Key(key), "E205", "`%s` belongs to an action: name it with `action`.", key)
			}
		}
		return
	}
	w := n.Worker
	if w == nil {
		return
	}
	at := s.Source.Get("action")
	declared, ok := w.Charter.Action(s.Action)
	if !ok {
		names := []string{}
		for _, a := range w.Charter.Actions {
			names = append(names, a.Name)
		}
		c.faultSee(at, w.Charter.Source.Key("actions"), "E219", "The charter of "+w.Charter.Worker+" allows no action \""+s.Action+"\""+suggestion(s.Action, names))
		return
	}
	p := place{node: n}
	compiled := *w.Actions[s.Action]
	compiled.Stage = w.Charter.Stage(declared)
	if s.Key.Set() {
		compiled.Key = c.phrase(p, s.Key, nil)
	}
	if s.Resource.Set() {
		compiled.Resource = c.phrase(p, s.Resource, nil)
	}
	n.Action = &compiled
	c.actionKey(n)
	if w.Charter.Authority != charter.AuthorityExecute {
		c.faultSee(at, w.Charter.Source.Key("authority"), "E244", w.Charter.Worker+" may only "+string(w.Charter.Authority)+", not execute. Raise the authority in its charter, or leave the action to another worker.")
	}
	if n.Backup != nil {
		if _, also := n.Backup.Charter.Action(s.Action); !also {
			c.fault(s.Source.Get("backup"), "E226", "The backup's charter does not allow the action %q.", s.Action)
		}
	}
}

func suggestion(name string, names []string) string {
	slices.Sort(names)
	if nearest := schema.Nearest(name, names); nearest != "" {
		return ". Did you mean \"" + nearest + "\"?"
	}
	return ". Add it there under `actions`, with its effect."
}

// actionKey checks that an action's key tells runs and items apart.
func (c *checker) actionKey(n *Node) {
	key := n.Action.Key
	if key == nil {
		return
	}
	at := n.Step.Source
	if n.Step.Key.Set() {
		at = n.Step.Key.Node
	}
	uses := key.Uses
	if len(uses.Outputs)+len(uses.Items)+len(uses.About)+len(uses.Facts) == 0 && !uses.Input && !uses.Work && !uses.Run {
		c.fault(at, "E218", "This key is the same for ever: the action would happen once and never again. Name what it is done for, such as ${run.subject}.")
		return
	}
	var block *Node
	for p := n.Parent; p != nil && block == nil; p = p.Parent {
		if p.Kind == KindEach {
			block = p
		}
	}
	if block == nil || uses.Work || slices.Contains(uses.Items, block) {
		return
	}
	for _, read := range uses.Outputs {
		if within(read, block) {
			return
		}
	}
	c.fault(at, "E218", "This key is the same for every item of %q: the action would happen for the first one only. Add the item, such as ${%s.id}.", block.Name, block.Step.Each.As)
}
