package layout

import "slices"

// frame is a box in work: a leaf, or a frame with its own layers.
type frame struct {
	*Box
	parent        *frame
	inside        []*frame
	depth         int
	width, height float64
	// x and y are the place in the parent, then in the picture.
	x, y float64
	// ports are the x of the arrows that cross the frame's border, by arrow:
	// at the top for those that come in, at the bottom for those that leave.
	ports map[*course]float64
	// links are the arrows whose ends lie in two different children.
	links []*course
	// passing are the arrows that lead from inside over the border.
	passing []*course
}

// course is an arrow in work.
type course struct {
	Arrow
	from, to *frame
	// meet is the innermost frame around both ends; nil: the arrow is not drawn.
	meet *frame
	// upper and lower are the ends as they stand: swapped for an arrow that
	// goes upwards.
	upper, lower *frame
	flipped      bool
	// parts are the points of the course within each frame it crosses, relative to that frame.
	parts map[*frame][]Point
	label Rect // relative to meet
}

type arrangement struct {
	root   *frame
	byID   map[string]*frame
	arrows []*course
}

func newArrangement(root *Box, arrows []Arrow) *arrangement {
	a := &arrangement{byID: map[string]*frame{}}
	a.root = a.frame(root, nil)
	for _, arrow := range arrows {
		c := &course{Arrow: arrow, from: a.byID[arrow.From], to: a.byID[arrow.To], parts: map[*frame][]Point{}}
		a.arrows = append(a.arrows, c)
		if c.from == nil || c.to == nil || c.from.within(c.to) || c.to.within(c.from) {
			continue
		}
		c.meet = meeting(c.from, c.to)
		c.meet.links = append(c.meet.links, c)
	}
	return a
}

func (a *arrangement) frame(b *Box, parent *frame) *frame {
	f := &frame{Box: b, parent: parent, width: b.Width, height: b.Height, ports: map[*course]float64{}}
	if parent != nil {
		f.depth = parent.depth + 1
		a.byID[b.ID] = f
	}
	for _, child := range b.Inside {
		f.inside = append(f.inside, a.frame(child, f))
	}
	return f
}

// within tells whether f is o or stands somewhere in it.
func (f *frame) within(o *frame) bool {
	for at := f; at != nil; at = at.parent {
		if at == o {
			return true
		}
	}
	return false
}

// child is the direct child of o that f stands in.
func (f *frame) child(o *frame) *frame {
	at := f
	for at.parent != o {
		at = at.parent
	}
	return at
}

func meeting(a, b *frame) *frame {
	for a.depth > b.depth {
		a = a.parent
	}
	for b.depth > a.depth {
		b = b.parent
	}
	for a != b {
		a, b = a.parent, b.parent
	}
	return a
}

// orient decides for every arrow which end stands above: the first, but for
// arrows marked as going back and those that would close a circle.
func (a *arrangement) orient() {
	var visit func(f *frame)
	visit = func(f *frame) {
		below := map[*frame][]*frame{}
		reaches := func(from, to *frame) bool { return reachable(below, from, to, map[*frame]bool{}) }
		for _, back := range []bool{false, true} {
			for _, c := range f.links {
				if c.Back != back {
					continue
				}
				c.upper, c.lower = c.from, c.to
				if back || reaches(c.to.child(f), c.from.child(f)) {
					c.upper, c.lower = c.to, c.from
				}
				if back && reaches(c.lower.child(f), c.upper.child(f)) {
					c.upper, c.lower = c.lower, c.upper
				}
				c.flipped = c.upper == c.to
				below[c.upper.child(f)] = append(below[c.upper.child(f)], c.lower.child(f))
			}
		}
		for _, c := range f.links {
			for _, end := range []*frame{c.upper, c.lower} {
				for at := end.parent; at != f; at = at.parent {
					at.passing = append(at.passing, c)
				}
			}
		}
		for _, child := range f.inside {
			visit(child)
		}
	}
	visit(a.root)
}

func reachable(below map[*frame][]*frame, from, to *frame, seen map[*frame]bool) bool {
	if from == to {
		return true
	}
	if seen[from] {
		return false
	}
	seen[from] = true
	return slices.ContainsFunc(below[from], func(next *frame) bool { return reachable(below, next, to, seen) })
}

// settle turns places in parents into places in the picture.
func (f *frame) settle(x, y float64, boxes map[string]Rect) {
	f.x, f.y = f.x+x, f.y+y
	if f.parent != nil {
		boxes[f.ID] = Rect{f.x, f.y, f.width, f.height}
	}
	for _, child := range f.inside {
		child.settle(f.x, f.y, boxes)
	}
}

// route joins the parts of a settled arrow, from the upper end to the lower one.
func (c *course) route() Route {
	if c.meet == nil {
		return Route{}
	}
	var crossed []*frame
	for at := c.upper.parent; at != c.meet; at = at.parent {
		crossed = append(crossed, at)
	}
	crossed = append(crossed, c.meet)
	down := len(crossed)
	for at := c.lower.parent; at != c.meet; at = at.parent {
		crossed = slices.Insert(crossed, down, at)
	}
	r := Route{Label: c.label}
	for _, f := range crossed {
		for _, p := range c.parts[f] {
			r.Points = append(r.Points, Point{p.X + f.x, p.Y + f.y})
		}
	}
	if c.LabelWidth > 0 {
		r.Label.X, r.Label.Y = r.Label.X+c.meet.x, r.Label.Y+c.meet.y
	}
	if c.flipped {
		slices.Reverse(r.Points)
	}
	return r
}
