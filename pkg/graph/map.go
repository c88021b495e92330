package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// Feed says that one loop gives something to another.
type Feed struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Via is "fact NAME", "event NAME", "after" or "step PATH" (a sub-loop).
	Via string `json:"via"`
}

// Feeds lists which loops feed which, sorted. A loop that feeds itself is not listed.
func Feeds(loops map[string]*loop.Definition) []Feed {
	writers, readers := map[string][]string{}, map[string][]string{}
	var feeds []Feed
	for name, d := range loops {
		t := touched(d)
		for _, other := range t.follows {
			feeds = append(feeds, Feed{other, name, "after"})
		}
		for _, call := range t.calls {
			feeds = append(feeds, Feed{name, call.loop, "step " + call.step})
		}
		for _, thing := range t.gives() {
			writers[thing] = append(writers[thing], name)
		}
		for _, thing := range t.takes() {
			readers[thing] = append(readers[thing], name)
		}
	}
	for thing, from := range writers {
		for _, writer := range from {
			for _, reader := range readers[thing] {
				feeds = append(feeds, Feed{writer, reader, thing})
			}
		}
	}
	feeds = slices.DeleteFunc(feeds, func(f Feed) bool { return f.From == f.To })
	slices.SortFunc(feeds, func(a, b Feed) int {
		return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.To, b.To), strings.Compare(a.Via, b.Via))
	})
	return slices.Compact(feeds)
}

// call is a sub-loop and the step that runs it.
type call struct{ loop, step string }

// contact is what a loop shares with others.
type contact struct {
	reads, writes, emits, starts, waits, follows, hooks []string
	calls                                               []call
}

func (t *contact) gives() []string {
	return append(prefixed("fact ", t.writes), prefixed("event ", t.emits)...)
}

func (t *contact) takes() []string {
	return append(prefixed("fact ", t.reads), prefixed("event ", unique(slices.Concat(t.starts, t.waits)))...)
}

func prefixed(prefix string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = prefix + name
	}
	return out
}

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// touched collects what a loop shares, each name once.
func touched(d *loop.Definition) *contact {
	t := &contact{}
	for _, trigger := range d.Loop.Triggers {
		switch trigger.Kind {
		case loop.TriggerEvent:
			t.starts = append(t.starts, trigger.Name)
		case loop.TriggerAfter:
			t.follows = append(t.follows, trigger.Name)
		case loop.TriggerWebhook:
			t.hooks = append(t.hooks, trigger.Name)
		}
	}
	for _, n := range d.Nodes {
		for _, read := range n.Reads {
			t.reads = append(t.reads, d.DeclaredFact(read.Fact))
		}
		for _, write := range n.Writes {
			t.writes = append(t.writes, d.DeclaredFact(write.Fact))
		}
		if n.Emit != nil {
			t.emits = append(t.emits, n.Emit.Event)
		}
		if n.Wait != nil && n.Wait.Event != "" {
			t.waits = append(t.waits, n.Wait.Event)
		}
		if n.Sub != nil {
			t.calls = append(t.calls, call{n.Sub.Loop.Name, n.Path})
		}
	}
	for _, list := range []*[]string{&t.reads, &t.writes, &t.emits, &t.starts, &t.waits, &t.follows, &t.hooks} {
		*list = unique(*list)
	}
	return t
}

// Map draws all loops with the facts and events that connect them (R14).
func Map(title string, loops map[string]*loop.Definition) *Graph {
	m := &mapper{graph: &Graph{Title: title}, drawn: map[string]bool{}}
	names := make([]string, 0, len(loops))
	for name := range loops {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		m.vertex("loop", name, KindLoop, append(triggers(loops[name]), workers(loops[name])))
	}
	for _, name := range names {
		m.loop(name, touched(loops[name]))
	}
	if len(Feeds(loops)) == 0 {
		m.graph.Notes = append(m.graph.Notes, "No loop feeds another: each can run alone, and nothing has to be coordinated between them.")
	}
	return m.graph
}

func workers(d *loop.Definition) string {
	if len(d.Workers) == 1 {
		return "1 worker"
	}
	return fmt.Sprintf("%d workers", len(d.Workers))
}

type mapper struct {
	graph *Graph
	drawn map[string]bool
}

// vertex draws a thing once and answers its id.
func (m *mapper) vertex(sort, name string, kind Kind, lines []string) string {
	id := sort + "_" + plainID(name)
	if !m.drawn[id] {
		m.drawn[id] = true
		m.graph.Root.Vertices = append(m.graph.Root.Vertices, &Vertex{ID: id, Kind: kind, Lines: lines})
	}
	return id
}

// plainID writes a name with letters, digits and underscores; different names stay different.
func plainID(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, "_%x_", r)
	}
	return b.String()
}

func (m *mapper) edge(from, to, label string, style Style) {
	m.graph.Edges = append(m.graph.Edges, Edge{From: from, To: to, Label: label, Style: style})
}

func (m *mapper) loop(name string, t *contact) {
	self := "loop_" + plainID(name)
	fact := func(name string) string { return m.vertex("fact", name, KindFact, []string{"fact", name}) }
	event := func(name string) string { return m.vertex("event", name, KindEvent, []string{"event", name}) }
	for _, hook := range t.hooks {
		m.edge(m.vertex("webhook", hook, KindSource, []string{"webhook", hook}), self, "starts", Needed)
	}
	for _, other := range t.follows {
		m.edge(m.vertex("loop", other, KindLoop, []string{other}), self, "output, after it", Needed)
	}
	for _, e := range t.starts {
		m.edge(event(e), self, "starts", Needed)
	}
	for _, e := range t.waits {
		m.edge(event(e), self, "is waited for", Awaited)
	}
	for _, f := range t.reads {
		m.edge(fact(f), self, "is read", Needed)
	}
	for _, f := range t.writes {
		m.edge(self, fact(f), "writes", Needed)
	}
	for _, e := range t.emits {
		m.edge(self, event(e), "emits", Needed)
	}
	for _, c := range t.calls {
		m.edge(self, m.vertex("loop", c.loop, KindLoop, []string{c.loop}), "runs as step "+c.step, Needed)
	}
}
