package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/schedule"
)

type builder struct {
	graph *Graph
	// in and out are where arrows enter and leave a node's shapes.
	in, out map[*loop.Node]string
}

func (b *builder) vertex(in *Block, v *Vertex) { in.Vertices = append(in.Vertices, v) }

func (b *builder) edge(from, to, label string, style Style) {
	b.graph.Edges = append(b.graph.Edges, Edge{From: from, To: to, Label: label, Style: style})
}

func id(path string) string { return "n_" + strings.NewReplacer("/", "__").Replace(path) }

func (b *builder) body(in *Block, body *loop.Body) {
	for _, n := range body.Nodes {
		b.node(in, n)
	}
}

func (b *builder) node(in *Block, n *loop.Node) {
	switch n.Kind {
	case loop.KindEach:
		b.block(in, n, fmt.Sprintf("%s: each %s of %s, %d at once, %s", n.Name, n.Each.As, n.Step.Each.List.Text, n.Each.AtOnce, join(n.Join)))
	case loop.KindBranches:
		b.block(in, n, fmt.Sprintf("%s: side by side, %s", n.Name, join(n.Join)))
	case loop.KindGroup:
		b.block(in, n, n.Name)
	case loop.KindSwitch:
		b.decision(in, n)
	default:
		b.step(in, n)
	}
}

func join(j *loop.Join) string {
	switch {
	case j.Need.All:
		return "all needed, else " + string(j.Otherwise)
	case j.Need.Percent > 0:
		return j.Need.Percent.String() + " needed, else " + string(j.Otherwise)
	}
	return fmt.Sprintf("%d needed, else %s", j.Need.Count, j.Otherwise)
}

// block draws a frame with what is in it.
func (b *builder) block(in *Block, n *loop.Node, title string) {
	frame := &Block{ID: id(n.Path), Title: title}
	in.Blocks = append(in.Blocks, frame)
	b.in[n], b.out[n] = frame.ID, frame.ID
	for _, child := range n.Branches {
		b.node(frame, child)
	}
	if n.Body != nil {
		b.body(frame, n.Body)
	}
}

// decision draws a switch: a shape that decides, and a frame for each case.
func (b *builder) decision(in *Block, n *loop.Node) {
	frame := &Block{ID: id(n.Path), Title: n.Name}
	in.Blocks = append(in.Blocks, frame)
	decides := id(n.Path) + "__which"
	b.vertex(frame, &Vertex{ID: decides, Kind: KindDecision, Lines: []string{n.Name + "?"}, Path: n.Path})
	b.in[n], b.out[n] = decides, frame.ID
	for i, one := range n.Cases {
		label := "otherwise"
		if when := n.Step.Switch[i].When; when.Set() {
			label = when.Text
		}
		way := &Block{ID: id(one.Path), Title: "case " + one.Name}
		if len(one.Body.Nodes) == 0 {
			b.vertex(way, &Vertex{ID: way.ID + "__value", Kind: KindStep, Lines: []string{"a fixed value"}, Path: one.Path})
		}
		frame.Blocks = append(frame.Blocks, way)
		b.body(way, one.Body)
		b.edge(decides, way.ID, label, Needed)
	}
}

// step draws a step and, beside it, its review and approval.
func (b *builder) step(in *Block, n *loop.Node) {
	work := &Vertex{ID: id(n.Path), Kind: kind(n), Lines: lines(n), Path: n.Path}
	first, last := work.ID, work.ID
	asks := n.Approval != nil && (n.Approval.Declared || needsPerson(n))
	if asks && n.Action != nil {
		first = b.approval(in, n)
		b.edge(first, work.ID, "approved", Needed)
	}
	b.vertex(in, work)
	if n.Review != nil {
		review := &Vertex{ID: work.ID + "__review", Kind: KindReview, Lines: []string{"review", n.Review.Worker.Charter.Worker}, Path: n.Path}
		b.vertex(in, review)
		b.edge(last, review.ID, "output", Needed)
		b.edge(review.ID, work.ID, fmt.Sprintf("sent back, at most %d times", n.Review.Revisions), Back)
		last = review.ID
	}
	if asks && n.Action == nil {
		person := b.approval(in, n)
		b.edge(last, person, "", Needed)
		last = person
	}
	b.in[n], b.out[n] = first, last
	b.failing(in, n)
}

func (b *builder) approval(in *Block, n *loop.Node) string {
	a := n.Approval
	text := []string{"approval: " + strings.Join(a.Approvers, ", "), "within " + schedule.FormatDuration(a.Within), fmt.Sprintf("no: %s, no answer: %s", a.Rejected, a.Expired)}
	if a.People > 1 {
		text[0] = fmt.Sprintf("approval: %d of %s", a.People, strings.Join(a.Approvers, ", "))
	}
	v := &Vertex{ID: id(n.Path) + "__approval", Kind: KindApproval, Lines: text, Path: n.Path}
	b.vertex(in, v)
	return v.ID
}

// needsPerson tells whether a limit, a review or the stage may ask people.
func needsPerson(n *loop.Node) bool {
	if n.Review != nil && n.Review.Otherwise == charter.OtherwiseApprove {
		return true
	}
	if n.Action != nil && n.Action.Stage == charter.StageApproval {
		return true
	}
	return slices.ContainsFunc(n.Limits, func(l loop.LimitRule) bool { return l.Otherwise == charter.OtherwiseApprove })
}

// failing draws where a failure stops the run or asks people.
func (b *builder) failing(in *Block, n *loop.Node) {
	if n.Failure == nil || n.Failure.Then != loop.EndingHalt && n.Failure.Then != loop.EndingAsk {
		return
	}
	words := map[loop.Ending]string{loop.EndingHalt: "run blocked", loop.EndingAsk: "a person decides"}[n.Failure.Then]
	v := &Vertex{ID: id(n.Path) + "__fails", Kind: KindException, Lines: []string{words}, Path: n.Path}
	b.vertex(in, v)
	b.edge(id(n.Path), v.ID, "fails", Failing)
}

// arrows draws what the node reads and waits for.
func (b *builder) arrows(n *loop.Node) {
	to, drawn := b.in[n]
	if !drawn {
		return
	}
	for _, need := range n.Needs {
		style := Needed
		if need.Waits {
			style = Awaited
		}
		b.edge(b.out[need.Node], to, flow(need), style)
	}
	if len(n.Needs) == 0 && n.Parent == nil {
		b.edge("start", to, "", Needed)
	}
}

// flow is the data on an arrow.
func flow(need loop.Dependency) string {
	fields := slices.Clone(need.Fields)
	for i, field := range fields {
		if field == "" {
			fields[i] = "output"
		}
	}
	if len(fields) > 4 {
		fields = append(fields[:3], fmt.Sprintf("%d more", len(fields)-3))
	}
	if len(fields) == 0 && need.After {
		return "after"
	}
	return strings.Join(fields, ", ")
}

// ends leads the steps that no other waits for to the end.
func (b *builder) ends(d *loop.Definition) {
	for _, n := range d.Body.Nodes {
		read := slices.ContainsFunc(d.Nodes, func(other *loop.Node) bool {
			return !strings.HasPrefix(other.Path, n.Path+"/") && slices.ContainsFunc(other.Needs, func(need loop.Dependency) bool { return need.Node == n })
		})
		if !read {
			b.edge(b.out[n], "done", "", Needed)
		}
	}
}

// notes says where a body that is not series-parallel costs waiting.
func (b *builder) notes(p *loop.Plan) {
	if p == nil {
		return
	}
	if p.Levelled {
		levels := make([]string, len(p.Sequence))
		for i, level := range p.Sequence {
			levels[i] = strings.Join(names(level), " and ")
		}
		note := "These steps run level by level, and wait for the whole level before: " + strings.Join(levels, "; then ") + "."
		b.graph.Notes = append(b.graph.Notes, note+extraWaits(p))
	}
	for _, part := range slices.Concat(p.Sequence, p.Parallel) {
		b.notes(part)
	}
}

func names(p *loop.Plan) []string {
	if p.Node != nil {
		return []string{p.Node.Name}
	}
	var out []string
	for _, part := range slices.Concat(p.Sequence, p.Parallel) {
		out = append(out, names(part)...)
	}
	return out
}
