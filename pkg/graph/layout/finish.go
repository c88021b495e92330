package layout

import (
	"cmp"
	"math"
	"slices"
)

// finish turns layers into places: sizes of the frame, boxes, ports and arrows.
func (s *sheet) finish() {
	f := s.frame
	left, right := math.Inf(1), math.Inf(-1)
	for _, c := range s.cells {
		left, right = min(left, c.x-c.width/2), max(right, c.x+c.width/2)
	}
	f.width = max(right-left+2*padding, f.TitleWidth+2*padding)
	shift := (f.width-(right-left))/2 - left
	at := padding + max(f.TitleHeight, 0)
	if f.TitleHeight > 0 {
		at += minTitle
	}
	for _, c := range s.cells {
		c.x += shift
	}
	for i, layer := range s.layers {
		deep := 0.0
		for _, c := range layer {
			deep = max(deep, c.height)
		}
		s.tops, s.deep = append(s.tops, at), append(s.deep, deep)
		at += deep
		if i+1 < len(s.layers) {
			at += layers + crowd(layer)
		}
	}
	f.height = at + padding
	for _, c := range s.cells {
		s.put(c)
	}
	for _, c := range s.cells {
		attach(c, c.down, true)
		attach(c, c.up, false)
	}
	for _, l := range s.links {
		l.of.parts[f] = s.points(l)
	}
}

// crowd makes room below a layer whose arrows go far to the side.
func crowd(layer []*cell) float64 {
	far := 0.0
	for _, c := range layer {
		for _, p := range c.down {
			far = max(far, math.Abs(p.lower.x-p.upper.x))
		}
	}
	return min(far/12, 40)
}

func (s *sheet) put(c *cell) {
	top := s.tops[c.layer] + (s.deep[c.layer]-c.height)/2
	switch {
	case c.box != nil: // small boxes beside a large one stand where their arrows come from
		c.box.x, c.box.y = c.x-c.width/2, min(top, s.tops[c.layer]+24)
	case c.port != nil:
		s.frame.ports[c.port] = c.x
	case c.label != nil:
		c.label.label = Rect{c.x - c.width/2, top, c.width, c.height}
	}
}

// attach spreads the arrows of one side of a box along it, each as near to the
// straight line as the others let it.
func attach(c *cell, pieces []*piece, bottom bool) {
	if c.box == nil {
		return
	}
	const narrow = 12.0
	corner := min(28, c.width/4)
	sorted := slices.Clone(pieces)
	slices.SortStableFunc(sorted, func(a, b *piece) int { return cmp.Compare(far(a, bottom), far(b, bottom)) })
	room := max(c.width-2*corner, 0)
	step := narrow
	if n := len(sorted); n > 1 {
		step = min(narrow, room/float64(n-1))
	}
	low := -room / 2
	for i, p := range sorted {
		high := room/2 - step*float64(len(sorted)-1-i)
		at := min(max(far(p, bottom)-c.x, low), high)
		if own := anchor(c, p.of, bottom); crosses(c, p.of, bottom) {
			at = own
		} else {
			low = at + step
		}
		if bottom {
			p.from = at
		} else {
			p.to = at
		}
	}
}

func crosses(c *cell, of *course, bottom bool) bool {
	_, ok := c.box.ports[of]
	return ok && bottom == of.upper.within(c.box)
}

// far is the x of a piece's other end.
func far(p *piece, bottom bool) float64 {
	other, down := p.upper, true
	if bottom {
		other, down = p.lower, false
	}
	return other.x + anchor(other, p.of, down)
}

// points are a link's course: straight through layers, free between them.
func (s *sheet) points(l *link) []Point {
	var out []Point
	for i, p := range l.pieces {
		x := p.upper.x + p.from
		switch {
		case i > 0: // already there
		case p.upper.port != nil:
			out = append(out, Point{x, 0}, Point{x, s.tops[p.upper.layer]})
		default:
			out = append(out, Point{x, p.upper.box.y + p.upper.height}, Point{x, s.tops[p.upper.layer] + s.deep[p.upper.layer]})
		}
		to := p.lower.x + p.to
		top := s.tops[p.lower.layer]
		out = append(out, Point{to, top})
		switch {
		case p.lower.box != nil:
			out = append(out, Point{to, p.lower.box.y})
		case p.lower.port != nil:
			out = append(out, Point{to, s.frame.height})
		default:
			out = append(out, Point{to, top + s.deep[p.lower.layer]})
		}
	}
	return slices.Compact(out)
}
