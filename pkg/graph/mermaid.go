package graph

import (
	"fmt"
	"strings"
)

// shapes are how Mermaid brackets the kinds of vertices.
var shapes = map[Kind][2]string{
	KindStart: {"([", "])"}, KindEnd: {"([", "])"}, KindStep: {"[", "]"}, KindAction: {"[[", "]]"}, KindReview: {"[/", "/]"},
	KindApproval: {"{{", "}}"}, KindDecision: {"{", "}"}, KindWait: {"[\\", "\\]"}, KindLoop: {"[[", "]]"}, KindException: {"(((", ")))"},
	KindFact: {"[(", ")]"}, KindEvent: {">", "]"}, KindSource: {"([", "])"},
}

// arrows are Mermaid's arrows by style.
var arrows = map[Style]string{Needed: "-->", Awaited: "-.->", Back: "-.->", Failing: "-.-x"}

// marked are the kinds that a reader looks for.
var marked = []Kind{KindAction, KindApproval, KindDecision, KindReview, KindException, KindFact, KindEvent}

// Mermaid writes the graph as a Mermaid flowchart, which code hosts and many
// editors draw.
func Mermaid(g *Graph) string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for _, note := range g.Notes {
		fmt.Fprintf(&b, "  %%%% %s\n", note)
	}
	block(&b, &g.Root, 1)
	for _, e := range g.Edges {
		arrow := arrows[e.Style]
		if e.Label != "" {
			arrow += "|" + quote(e.Label) + "|"
		}
		fmt.Fprintf(&b, "  %s %s %s\n", e.From, arrow, e.To)
	}
	for _, kind := range marked {
		if ids := idsOf(&g.Root, kind); len(ids) > 0 {
			c := lookOf(kind).light
			fmt.Fprintf(&b, "  classDef %s fill:%s,stroke:%s,color:%s\n  class %s %s\n", kind, c.ground, c.border, c.text, strings.Join(ids, ","), kind)
		}
	}
	return b.String()
}

func block(b *strings.Builder, in *Block, depth int) {
	indent := strings.Repeat("  ", depth)
	for _, v := range in.Vertices {
		shape := shapes[v.Kind]
		lines := make([]string, len(v.Lines))
		for i, line := range v.Lines {
			lines[i] = escape(line)
		}
		fmt.Fprintf(b, "%s%s%s\"%s\"%s\n", indent, v.ID, shape[0], strings.Join(lines, "<br>"), shape[1])
	}
	for _, inner := range in.Blocks {
		fmt.Fprintf(b, "%ssubgraph %s [%s]\n", indent, inner.ID, quote(inner.Title))
		block(b, inner, depth+1)
		fmt.Fprintf(b, "%send\n", indent)
	}
}

func idsOf(in *Block, kind Kind) []string {
	var ids []string
	for _, v := range in.Vertices {
		if v.Kind == kind {
			ids = append(ids, v.ID)
		}
	}
	for _, inner := range in.Blocks {
		ids = append(ids, idsOf(inner, kind)...)
	}
	return ids
}

func quote(text string) string { return `"` + escape(text) + `"` }

// escape writes the characters that mean something to Mermaid as entities.
func escape(text string) string {
	return strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "|", "#124;", "&", "#amp;", "\n", " ").Replace(text)
}
