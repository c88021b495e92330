package graph

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/outerloop-dev/outerloop/pkg/graph/layout"
	"github.com/outerloop-dev/outerloop/pkg/project"
)

// drawn is what a reader of the SVG finds: shapes, frames, labels and texts with their bounds.
type drawn struct {
	shapes, frames map[string]layout.Rect
	labels         []layout.Rect
	text           string
	width, height  float64
}

// readSVG takes a picture apart as XML, as a browser does.
func readSVG(t interface{ Fatalf(string, ...any) }, text string) drawn {
	d := drawn{shapes: map[string]layout.Rect{}, frames: map[string]layout.Rect{}}
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return d
		}
		if err != nil {
			t.Fatalf("the picture is not XML: %v", err)
		}
		switch token := token.(type) {
		case xml.CharData:
			d.text += string(token)
		case xml.StartElement:
			d.element(token)
		}
	}
}

func (d *drawn) element(e xml.StartElement) {
	at := map[string]string{}
	for _, a := range e.Attr {
		at[a.Name.Local] = a.Value
	}
	number := func(name string) float64 { v, _ := strconv.ParseFloat(at[name], 64); return v }
	box := layout.Rect{X: number("x"), Y: number("y"), Width: number("width"), Height: number("height")}
	class, _, _ := strings.Cut(at["class"], " ")
	switch {
	case e.Name.Local == "svg":
		d.width, d.height = number("width"), number("height")
	case e.Name.Local == "polygon":
		d.shapes[at["id"]] = bounds(at["points"])
	case class == "shape" && at["id"] != "":
		d.shapes[at["id"]] = box
	case class == "frame":
		d.frames[at["id"]] = box
	case class == "label-ground":
		d.labels = append(d.labels, box)
	}
}

func bounds(points string) layout.Rect {
	var xs, ys []float64
	for _, pair := range strings.Fields(points) {
		x, y, _ := strings.Cut(pair, ",")
		px, _ := strconv.ParseFloat(x, 64)
		py, _ := strconv.ParseFloat(y, 64)
		xs, ys = append(xs, px), append(ys, py)
	}
	x, y := slices.Min(xs), slices.Min(ys)
	return layout.Rect{X: x, Y: y, Width: slices.Max(xs) - x, Height: slices.Max(ys) - y}
}

// clear fails where shapes overlap, leave the paper, or lie under a label.
func (d *drawn) clear(t interface{ Fatalf(string, ...any) }) {
	ids := make([]string, 0, len(d.shapes))
	for id := range d.shapes {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	paper := layout.Rect{Width: d.width, Height: d.height}
	for i, a := range ids {
		if !paper.Contains(d.shapes[a]) {
			t.Fatalf("%s leaves the paper", a)
		}
		for _, b := range ids[i+1:] {
			if shrunk(d.shapes[a]).Overlaps(shrunk(d.shapes[b])) {
				t.Fatalf("%s %+v and %s %+v overlap", a, d.shapes[a], b, d.shapes[b])
			}
		}
		for _, label := range d.labels {
			if shrunk(d.shapes[a]).Overlaps(shrunk(label)) {
				t.Fatalf("a label %+v lies on %s %+v", label, a, d.shapes[a])
			}
		}
	}
}

// shrunk allows for the rounding of printed numbers.
func shrunk(r layout.Rect) layout.Rect {
	return layout.Rect{X: r.X + 0.2, Y: r.Y + 0.2, Width: r.Width - 0.4, Height: r.Height - 0.4}
}

// R14: pictures of forty shapes, in frames or not, have no overlapping boxes.
func TestFortyShapesDoNotOverlap(t *testing.T) {
	t.Parallel()
	kinds := []Kind{KindStep, KindAction, KindReview, KindApproval, KindDecision, KindWait, KindException}
	rapid.Check(t, func(t *rapid.T) {
		g := &Graph{Title: "forty"}
		blocks := []*Block{&g.Root}
		for i := range rapid.IntRange(0, 6).Draw(t, "frames") {
			inner := &Block{ID: fmt.Sprint("f", i), Title: "a frame with a title"}
			in := rapid.SampledFrom(blocks).Draw(t, "in")
			in.Blocks = append(in.Blocks, inner)
			blocks = append(blocks, inner)
		}
		for i := range 40 {
			in := rapid.SampledFrom(blocks).Draw(t, "block")
			lines := rapid.SliceOfN(rapid.StringMatching(`[a-zA-Z <&"]{1,60}`), 1, 4).Draw(t, "lines")
			in.Vertices = append(in.Vertices, &Vertex{ID: fmt.Sprint("v", i), Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Lines: lines})
			for range rapid.IntRange(0, 2).Draw(t, "arrows") {
				if i > 0 {
					from := rapid.IntRange(0, i-1).Draw(t, "from")
					label := rapid.SampledFrom([]string{"", "stale", "totals, results and all the rest of it"}).Draw(t, "label")
					g.Edges = append(g.Edges, Edge{From: fmt.Sprint("v", from), To: fmt.Sprint("v", i), Label: label, Style: Needed})
				}
			}
		}
		d := readSVG(t, SVG(g, Auto))
		if len(d.shapes) != 40 {
			t.Fatalf("%d shapes are drawn", len(d.shapes))
		}
		d.clear(t)
	})
}

// Every sample's pictures are whole: all shapes and frames are there and clear
// of each other, in every theme, with the words of the graph; nothing is
// loaded from elsewhere.
func TestPicturesAreWhole(t *testing.T) {
	t.Parallel()
	for _, root := range []string{"../..", "../project/testdata/base"} {
		p, _ := project.Open(root)
		graphs := []*Graph{Map("all", p.Loops)}
		for _, name := range p.Names() {
			graphs = append(graphs, Of(p.Loops[name]))
		}
		for _, g := range graphs {
			for _, theme := range []Theme{Auto, Light, Dark} {
				text := SVG(g, theme)
				d := readSVG(t, text)
				d.clear(t)
				checkWhole(t, g, &g.Root, &d)
				for _, outside := range []string{"href", "url(http", "@import", "<script"} {
					if strings.Contains(text, outside) {
						t.Errorf("%s: the picture uses %s", g.Title, outside)
					}
				}
			}
		}
	}
}

func checkWhole(t *testing.T, g *Graph, b *Block, d *drawn) {
	t.Helper()
	for _, v := range b.Vertices {
		if _, ok := d.shapes[v.ID]; !ok {
			t.Errorf("%s: %s is not drawn", g.Title, v.ID)
		}
		for _, line := range shown(v) {
			if !strings.Contains(d.text, line) {
				t.Errorf("%s: the words %q are missing", g.Title, line)
			}
		}
	}
	for _, inner := range b.Blocks {
		if _, ok := d.frames[inner.ID]; !ok {
			t.Errorf("%s: the frame %s is not drawn", g.Title, inner.ID)
		}
		checkWhole(t, g, inner, d)
	}
}
