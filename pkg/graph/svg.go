package graph

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/graph/layout"
)

// Theme is the colours of a drawn picture.
type Theme string

// The themes.
const (
	// Auto follows the reader's setting.
	Auto  Theme = "auto"
	Light Theme = "light"
	Dark  Theme = "dark"
)

// SVG draws the graph as one self-contained picture: no scripts, fonts or
// other files. Widths of texts are estimated on the safe side.
func SVG(g *Graph, theme Theme) string {
	d := &drawing{graph: g, vertices: map[string]*Vertex{}}
	root := d.box(&g.Root)
	arrows := make([]layout.Arrow, len(g.Edges))
	for i, e := range g.Edges {
		arrows[i] = layout.Arrow{From: e.From, To: e.To, Back: e.Style == Back}
		if lines := labelLines(e); len(lines) > 0 {
			arrows[i].LabelWidth, arrows[i].LabelHeight = widest(lines, smallSize)+8, float64(len(lines))*lineHeight*0.85+4
		}
	}
	d.picture = layout.Arrange(root, arrows)
	return d.write(theme)
}

type drawing struct {
	graph    *Graph
	vertices map[string]*Vertex
	picture  *layout.Picture
	b        strings.Builder
}

// labelLines are an arrow's label as drawn.
func labelLines(e Edge) []string {
	if e.Label == "" {
		return nil
	}
	return wrap(e.Label, 26)
}

func widest(lines []string, size float64) float64 {
	width := 0.0
	for _, line := range lines {
		width = max(width, widthOf(line, size))
	}
	return width
}

// box turns a block into boxes of the layout.
func (d *drawing) box(b *Block) *layout.Box {
	out := &layout.Box{ID: b.ID}
	if b.Title != "" {
		out.TitleWidth, out.TitleHeight = widest(d.title(b), smallSize), lineHeight*float64(len(d.title(b)))
	}
	for _, v := range b.Vertices {
		d.vertices[v.ID] = v
		lines := shown(v)
		size := layout.Box{ID: v.ID, Width: widest(lines, fontSize) + 28, Height: float64(len(lines))*lineHeight + 16}
		if slanted(v.Kind) {
			size.Width += 20
		}
		out.Inside = append(out.Inside, &size)
	}
	for _, inner := range b.Blocks {
		out.Inside = append(out.Inside, d.box(inner))
	}
	if len(out.Inside) == 0 {
		out.Width, out.Height = out.TitleWidth+32, out.TitleHeight+24
	}
	return out
}

func (d *drawing) title(b *Block) []string { return wrap(b.Title, 60) }

// slanted tells whether the shape has slanted sides.
func slanted(k Kind) bool {
	return k == KindDecision || k == KindApproval || k == KindException || k == KindEvent
}

func (d *drawing) write(theme Theme) string {
	legend := d.legend()
	width := max(d.picture.Width, legend.width+32)
	height := d.picture.Height + legend.height
	fmt.Fprintf(&d.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" role="img" class="outerloop">`+"\n",
		px(width), px(height), px(width), px(height))
	fmt.Fprintf(&d.b, "<title>%s</title>\n<style>%s</style>\n", html.EscapeString(d.graph.Title), css(theme))
	d.b.WriteString(markers)
	fmt.Fprintf(&d.b, `<rect class="paper" width="%s" height="%s"/>`+"\n", px(width), px(height))
	d.frames(&d.graph.Root)
	for i, e := range d.graph.Edges {
		d.arrow(e, d.picture.Routes[i])
	}
	d.shapes(&d.graph.Root)
	for i, e := range d.graph.Edges {
		d.label(e, d.picture.Routes[i])
	}
	d.b.WriteString(legend.text)
	d.b.WriteString("</svg>\n")
	return d.b.String()
}

// px writes a length.
func px(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

func (d *drawing) frames(b *Block) {
	for _, inner := range b.Blocks {
		r := d.picture.Boxes[inner.ID]
		fmt.Fprintf(&d.b, `<rect class="frame" id="%s" x="%s" y="%s" width="%s" height="%s" rx="8"/>`+"\n",
			inner.ID, px(r.X), px(r.Y), px(r.Width), px(r.Height))
		for i, line := range d.title(inner) {
			fmt.Fprintf(&d.b, `<text class="title" x="%s" y="%s">%s</text>`+"\n", px(r.X+12), px(r.Y+18+float64(i)*lineHeight), html.EscapeString(line))
		}
		d.frames(inner)
	}
}

func (d *drawing) arrow(e Edge, r layout.Route) {
	if len(r.Points) == 0 {
		return
	}
	var path strings.Builder
	fmt.Fprintf(&path, "M%s %s", px(r.Points[0].X), px(r.Points[0].Y))
	for i := 1; i < len(r.Points); i++ {
		from, to := r.Points[i-1], r.Points[i]
		if math.Abs(from.X-to.X) < 0.05 {
			fmt.Fprintf(&path, "V%s", px(to.Y))
			continue
		}
		middle := (from.Y + to.Y) / 2
		fmt.Fprintf(&path, "C%s %s %s %s %s %s", px(from.X), px(middle), px(to.X), px(middle), px(to.X), px(to.Y))
	}
	fmt.Fprintf(&d.b, `<path class="arrow %s" d="%s" marker-end="url(#%s)"/>`+"\n", e.Style, path.String(), marker(e.Style))
}

func marker(s Style) string {
	if s == Failing {
		return "cross"
	}
	return "head"
}

func (d *drawing) label(e Edge, r layout.Route) {
	lines := labelLines(e)
	if len(lines) == 0 || len(r.Points) == 0 {
		return
	}
	fmt.Fprintf(&d.b, `<rect class="label-ground" x="%s" y="%s" width="%s" height="%s" rx="3"/>`+"\n",
		px(r.Label.X), px(r.Label.Y), px(r.Label.Width), px(r.Label.Height))
	for i, line := range lines {
		y := r.Label.Y + 12 + float64(i)*lineHeight*0.85
		fmt.Fprintf(&d.b, `<text class="label" x="%s" y="%s">%s</text>`+"\n", px(r.Label.X+r.Label.Width/2), px(y), html.EscapeString(line))
	}
}

func (d *drawing) shapes(b *Block) {
	for _, v := range b.Vertices {
		r := d.picture.Boxes[v.ID]
		d.b.WriteString(outline(v, r))
		for i, line := range shown(v) {
			class := "text on-" + string(v.Kind)
			if i == 0 {
				class += " name"
			}
			y := r.Y + 8 + 12.5 + float64(i)*lineHeight
			fmt.Fprintf(&d.b, `<text class="%s" x="%s" y="%s">%s</text>`+"\n", class, px(r.X+r.Width/2), px(y), html.EscapeString(line))
		}
	}
	for _, inner := range b.Blocks {
		d.shapes(inner)
	}
}

// outline is a vertex's shape; whatever it is, its bounds are the layout's box.
func outline(v *Vertex, r layout.Rect) string {
	class := fmt.Sprintf(`class="shape %s" id="%s"`, v.Kind, v.ID)
	x, y, right, bottom := r.X, r.Y, r.X+r.Width, r.Y+r.Height
	const cut = 12.0
	if slanted(v.Kind) {
		middle := (y + bottom) / 2
		return fmt.Sprintf(`<polygon %s points="%s,%s %s,%s %s,%s %s,%s %s,%s %s,%s"/>`+"\n", class,
			px(x), px(middle), px(x+cut), px(y), px(right-cut), px(y), px(right), px(middle), px(right-cut), px(bottom), px(x+cut), px(bottom))
	}
	round := 5.0
	switch v.Kind {
	case KindStart, KindEnd:
		round = min(r.Height/2, 20)
	case KindFact:
		round = 0
	}
	rect := fmt.Sprintf(`<rect %s x="%s" y="%s" width="%s" height="%s" rx="%s"/>`+"\n", class, px(x), px(y), px(r.Width), px(r.Height), px(round))
	if v.Kind == KindAction || v.Kind == KindLoop {
		rect += fmt.Sprintf(`<path class="bars %s" d="M%s %sV%sM%s %sV%s"/>`+"\n", v.Kind, px(x+6), px(y), px(bottom), px(right-6), px(y), px(bottom))
	}
	return rect
}
