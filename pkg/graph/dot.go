package graph

import (
	"fmt"
	"strings"
)

// dotShapes are Graphviz's shapes for the kinds that are no plain box.
var dotShapes = map[Kind]string{
	KindStart: "oval", KindEnd: "oval", KindDecision: "diamond", KindApproval: "hexagon", KindException: "octagon",
	KindFact: "cylinder", KindEvent: "cds", KindSource: "oval", KindLoop: "component",
}

// dotStyles are the attributes of arrows by style.
var dotStyles = map[Style]string{
	Needed: "", Awaited: "style=dashed", Back: "style=dashed, constraint=false", Failing: `style=dotted, color="#a82a1f", arrowhead=tee`,
}

// DOT writes the graph in Graphviz's language. Frames are clusters; arrows to
// and from a frame end at its border.
func DOT(g *Graph) string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n", dotQuote(g.Title))
	b.WriteString("  graph [compound=true, rankdir=TB, fontname=\"Helvetica\", fontsize=11, labeljust=l]\n")
	b.WriteString("  node [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\", fontsize=11]\n")
	b.WriteString("  edge [fontname=\"Helvetica\", fontsize=9]\n")
	for _, note := range g.Notes {
		fmt.Fprintf(&b, "  // %s\n", strings.ReplaceAll(note, "\n", " "))
	}
	w := dotWriter{&b, map[string]string{}}
	w.block(&g.Root, 1)
	for _, e := range g.Edges {
		w.edge(e)
	}
	b.WriteString("}\n")
	return b.String()
}

type dotWriter struct {
	*strings.Builder
	// inside is a vertex in each frame, for arrows to the frame.
	inside map[string]string
}

// block writes what is in a frame and answers a vertex in it.
func (w dotWriter) block(in *Block, depth int) string {
	indent, first := strings.Repeat("  ", depth), ""
	for _, v := range in.Vertices {
		w.vertex(v, indent)
		if first == "" {
			first = v.ID
		}
	}
	for _, inner := range in.Blocks {
		fmt.Fprintf(w, "%ssubgraph cluster_%s {\n%s  label=%s; style=\"dashed,rounded\"; color=\"#8b98a9\"\n", indent, inner.ID, indent, dotQuote(inner.Title))
		if some := w.block(inner, depth+1); first == "" {
			first = some
		}
		fmt.Fprintf(w, "%s}\n", indent)
	}
	if first == "" { // an empty frame: arrows need something to lead to
		first = in.ID + "__empty"
		fmt.Fprintf(w, "%s%s [shape=point, style=invis]\n", indent, first)
	}
	w.inside[in.ID] = first
	return first
}

func (w dotWriter) vertex(v *Vertex, indent string) {
	c := lookOf(v.Kind).light
	fmt.Fprintf(w, "%s%s [label=%s, fillcolor=%q, color=%q, fontcolor=%q", indent, v.ID, dotQuote(strings.Join(shown(v), "\n")), c.ground, c.border, c.text)
	if shape := dotShapes[v.Kind]; shape != "" {
		fmt.Fprintf(w, ", shape=%s, style=filled", shape)
	}
	if v.Kind == KindAction {
		w.WriteString(", peripheries=2")
	}
	w.WriteString("]\n")
}

func (w dotWriter) edge(e Edge) {
	var attributes []string
	from, to := e.From, e.To
	if inner, frame := w.inside[from]; frame {
		attributes, from = append(attributes, "ltail=cluster_"+from), inner
	}
	if inner, frame := w.inside[to]; frame {
		attributes, to = append(attributes, "lhead=cluster_"+to), inner
	}
	if e.Label != "" {
		attributes = append(attributes, "label="+dotQuote(strings.Join(labelLines(e), "\n")))
	}
	if style := dotStyles[e.Style]; style != "" {
		attributes = append(attributes, style)
	}
	fmt.Fprintf(w, "  %s -> %s", from, to)
	if len(attributes) > 0 {
		fmt.Fprintf(w, " [%s]", strings.Join(attributes, ", "))
	}
	w.WriteString("\n")
}

// dotQuote writes a text in quotes; line ends centre the line before them.
func dotQuote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}
