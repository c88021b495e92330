// Package graph draws checked loops: what waits for what, which data flows on
// each arrow, where it decides, acts, asks people and stops, and how loops feed
// each other. A Graph is plain data; writers turn it into Mermaid, Graphviz DOT and SVG.
package graph

import (
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// Kind is what a vertex stands for.
type Kind string

// The kinds of vertices.
const (
	KindStart     Kind = "start"
	KindEnd       Kind = "end"
	KindStep      Kind = "step"
	KindAction    Kind = "action"
	KindReview    Kind = "review"
	KindApproval  Kind = "approval"
	KindDecision  Kind = "decision"
	KindWait      Kind = "wait"
	KindLoop      Kind = "loop"
	KindException Kind = "exception"
	// The kinds of a map: shared facts, events, and what comes from outside.
	KindFact   Kind = "fact"
	KindEvent  Kind = "event"
	KindSource Kind = "source"
)

// Vertex is one shape of the picture.
type Vertex struct {
	// ID is unique in the graph: letters, digits and underscores.
	ID    string   `json:"id"`
	Kind  Kind     `json:"kind"`
	Lines []string `json:"lines"`
	// Path is the step it belongs to; empty for start and end.
	Path string `json:"path,omitempty"`
}

// Block is a frame around vertices and other frames.
type Block struct {
	// ID is unique in the graph; empty for the loop itself.
	ID       string    `json:"id,omitempty"`
	Title    string    `json:"title,omitempty"`
	Vertices []*Vertex `json:"vertices,omitempty"`
	Blocks   []*Block  `json:"blocks,omitempty"`
}

// Style is how an arrow is drawn.
type Style string

// The styles of arrows.
const (
	// Needed: without what flows here the step does not run.
	Needed Style = "needed"
	// Awaited: the step waits, but runs without it.
	Awaited Style = "awaited"
	// Back: work that is sent back.
	Back Style = "back"
	// Failing: what happens when the step fails for good.
	Failing Style = "failing"
)

// Edge is an arrow.
type Edge struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Label string `json:"label,omitempty"`
	Style Style  `json:"style"`
}

// Graph is the picture of one loop, or of all loops.
type Graph struct {
	Title string `json:"title"`
	Root  Block  `json:"root"`
	Edges []Edge `json:"edges"`
	// Notes say where the plan makes steps wait for more than they need.
	Notes []string `json:"notes,omitempty"`
}

// Of draws a loop. The same loop gives the same graph.
func Of(d *loop.Definition) *Graph {
	b := &builder{graph: &Graph{Title: d.Loop.Name}, in: map[*loop.Node]string{}, out: map[*loop.Node]string{}}
	b.vertex(&b.graph.Root, &Vertex{ID: "start", Kind: KindStart, Lines: triggers(d)})
	b.body(&b.graph.Root, d.Body)
	b.vertex(&b.graph.Root, &Vertex{ID: "done", Kind: KindEnd, Lines: []string{"completed"}})
	for _, n := range d.Nodes {
		b.arrows(n)
	}
	b.ends(d)
	b.notes(d.Body.Plan)
	for _, n := range d.Nodes {
		b.notes(n.Plan())
	}
	return b.graph
}
