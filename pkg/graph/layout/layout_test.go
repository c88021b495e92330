package layout

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// drawing is a random picture: boxes in boxes, and arrows between any of them.
type drawing struct {
	root   *Box
	ids    []string
	frames map[string][]string // a frame's ids and those of all in it
	arrows []Arrow
}

func drawings(t *rapid.T) *drawing {
	d := &drawing{root: &Box{}, frames: map[string][]string{}}
	var fill func(b *Box, depth int) []string
	fill = func(b *Box, depth int) []string {
		var all []string
		for range rapid.IntRange(1, 6).Draw(t, "children") {
			child := &Box{ID: fmt.Sprint("b", len(d.ids))}
			d.ids = append(d.ids, child.ID)
			inner := []string{child.ID}
			if depth < 3 && rapid.IntRange(0, 3).Draw(t, "sort") == 0 {
				child.TitleWidth, child.TitleHeight = rapid.Float64Range(0, 300).Draw(t, "title"), 20
				inner = append(inner, fill(child, depth+1)...)
			} else {
				child.Width, child.Height = rapid.Float64Range(20, 250).Draw(t, "width"), rapid.Float64Range(20, 120).Draw(t, "height")
			}
			d.frames[child.ID] = inner
			b.Inside = append(b.Inside, child)
			all = append(all, inner...)
		}
		return all
	}
	fill(d.root, 0)
	for range rapid.IntRange(0, 2*len(d.ids)).Draw(t, "arrows") {
		a := Arrow{From: rapid.SampledFrom(d.ids).Draw(t, "from"), To: rapid.SampledFrom(d.ids).Draw(t, "to"), Back: rapid.IntRange(0, 9).Draw(t, "back") == 0}
		if rapid.Bool().Draw(t, "labelled") {
			a.LabelWidth, a.LabelHeight = rapid.Float64Range(10, 160).Draw(t, "label"), 18
		}
		d.arrows = append(d.arrows, a)
	}
	return d
}

// Whatever is drawn: boxes overlap only where one is inside the other, labels
// have their own place, and arrows lead from box to box around all others.
func TestNothingOverlaps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := drawings(t)
		p := within(d.root, d.arrows, rapid.SampledFrom([]float64{wide, 300}).Draw(t, "width"))
		related := map[[2]string]bool{}
		for outer, inner := range d.frames {
			for _, id := range inner {
				related[[2]string{outer, id}], related[[2]string{id, outer}] = true, true
				if !p.Boxes[outer].Contains(p.Boxes[id]) {
					t.Fatalf("%s %+v is not inside %s %+v", id, p.Boxes[id], outer, p.Boxes[outer])
				}
			}
		}
		paper := Rect{0, 0, p.Width, p.Height}
		for i, a := range d.ids {
			if !paper.Contains(p.Boxes[a]) {
				t.Fatalf("%s %+v leaves the paper %+v", a, p.Boxes[a], paper)
			}
			for _, b := range d.ids[i+1:] {
				if !related[[2]string{a, b}] && p.Boxes[a].Overlaps(p.Boxes[b]) {
					t.Fatalf("%s %+v and %s %+v overlap", a, p.Boxes[a], b, p.Boxes[b])
				}
			}
		}
		for i := range d.arrows {
			d.checkRoute(t, p, i, related)
		}
	})
}

func (d *drawing) checkRoute(t *rapid.T, p *Picture, i int, related map[[2]string]bool) {
	arrow, r := d.arrows[i], p.Routes[i]
	if related[[2]string{arrow.From, arrow.To}] || arrow.From == arrow.To {
		if len(r.Points) > 0 {
			t.Fatalf("%+v is drawn into itself", arrow)
		}
		return
	}
	if len(r.Points) < 2 || !onBorder(p.Boxes[arrow.From], r.Points[0]) || !onBorder(p.Boxes[arrow.To], r.Points[len(r.Points)-1]) {
		t.Fatalf("%+v does not lead from box to box: %v, %+v, %+v", arrow, r.Points, p.Boxes[arrow.From], p.Boxes[arrow.To])
	}
	for _, id := range d.ids {
		if len(d.frames[id]) > 1 || id == arrow.From || id == arrow.To {
			continue
		}
		box := p.Boxes[id]
		if arrow.LabelWidth > 0 && box.Overlaps(r.Label) {
			t.Fatalf("the label of %+v %+v lies on %s %+v", arrow, r.Label, id, box)
		}
		for i := 1; i < len(r.Points); i++ {
			a, b := r.Points[i-1], r.Points[i]
			swept := Rect{min(a.X, b.X), min(a.Y, b.Y), max(a.X, b.X) - min(a.X, b.X), max(a.Y, b.Y) - min(a.Y, b.Y)}
			if swept.Width == 0 {
				swept.Width = 0.01
			}
			if swept.Overlaps(box) {
				t.Fatalf("%+v runs through %s %+v between %v and %v", arrow, id, box, a, b)
			}
		}
	}
}

func onBorder(r Rect, p Point) bool {
	const hair = 1e-6
	vertical := p.Y > r.Y-hair && p.Y < r.Y+hair || p.Y > r.Y+r.Height-hair && p.Y < r.Y+r.Height+hair
	return vertical && p.X >= r.X-hair && p.X <= r.X+r.Width+hair
}

// A chain stands in one straight line, its arrows without a bend.
// What no arrow connects stands in rows where it would be too wide otherwise.
func TestPartsStandInRows(t *testing.T) {
	t.Parallel()
	root := &Box{}
	var arrows []Arrow
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		root.Inside = append(root.Inside, &Box{ID: name + "1", Width: 400, Height: 40}, &Box{ID: name + "2", Width: 400, Height: 40})
		arrows = append(arrows, Arrow{From: name + "1", To: name + "2"})
	}
	p := Arrange(root, arrows)
	if p.Width > wide || p.Boxes["a1"].Y != p.Boxes["b1"].Y || p.Boxes["e1"].Y <= p.Boxes["a2"].Y {
		t.Errorf("%v wide: %+v", p.Width, p.Boxes)
	}
}

func TestChainIsStraight(t *testing.T) {
	t.Parallel()
	root := &Box{}
	var arrows []Arrow
	for i := range 6 {
		root.Inside = append(root.Inside, &Box{ID: fmt.Sprint(i), Width: float64(60 + 30*(i%3)), Height: 30})
		if i > 0 {
			arrows = append(arrows, Arrow{From: fmt.Sprint(i - 1), To: fmt.Sprint(i), LabelWidth: 40, LabelHeight: 15})
		}
	}
	p := Arrange(root, arrows)
	for i, r := range p.Routes {
		for _, point := range r.Points {
			if d := point.X - r.Points[0].X; d > 0.5 || d < -0.5 {
				t.Errorf("arrow %d bends: %v", i, r.Points)
			}
		}
	}
}
