package layout

// cell is what stands in a layer: a box, a place where an arrow crosses the
// frame's border, a label, or an arrow that passes by.
type cell struct {
	box  *frame // nil for all but boxes
	port *course
	// label is the arrow whose label it is.
	label         *course
	width, height float64
	layer         int
	order         int
	x             float64 // centre
	up, down      []*piece
}

// piece is the part of an arrow between cells of two neighbouring layers.
type piece struct {
	upper, lower *cell
	of           *course
	// from and to are where it leaves and arrives, relative to the cells' centres.
	from, to float64
}

// link is an arrow between two cells, before it is cut into pieces.
type link struct {
	upper, lower *cell
	of           *course
	length       int
	pieces       []*piece
}

// sheet is the content of one frame in layers.
type sheet struct {
	frame  *frame
	cells  []*cell
	links  []*link
	layers [][]*cell
	tops   []float64
	deep   []float64
}

// place lays a frame out, what is in it first.
func (a *arrangement) place(f *frame) {
	if len(f.inside) == 0 {
		return
	}
	for _, child := range f.inside {
		a.place(child)
	}
	s := &sheet{frame: f}
	s.fill()
	s.rank()
	s.cut()
	s.sort()
	s.align()
	s.finish()
}

// fill makes the cells and links of a frame.
func (s *sheet) fill() {
	of := map[*frame]*cell{}
	for _, child := range s.frame.inside {
		c := &cell{box: child, width: child.width, height: child.height}
		of[child] = c
		s.cells = append(s.cells, c)
	}
	for _, c := range s.frame.links {
		length := 1
		if c.LabelWidth > 0 {
			length = 2
		}
		s.links = append(s.links, &link{upper: of[c.upper.child(s.frame)], lower: of[c.lower.child(s.frame)], of: c, length: length})
	}
	for _, c := range s.frame.passing {
		port := &cell{port: c, width: lane}
		s.cells = append(s.cells, port)
		if c.upper.within(s.frame) {
			s.links = append(s.links, &link{upper: of[c.upper.child(s.frame)], lower: port, of: c, length: 1})
		} else {
			s.links = append(s.links, &link{upper: port, lower: of[c.lower.child(s.frame)], of: c, length: 1})
		}
	}
}

// rank gives every cell its layer: below all that lead to it, and as near as it
// can be to what it leads to.
func (s *sheet) rank() {
	order := s.topological()
	ins, outs := map[*cell][]*link{}, map[*cell][]*link{}
	for _, l := range s.links {
		ins[l.lower] = append(ins[l.lower], l)
		outs[l.upper] = append(outs[l.upper], l)
	}
	last := 0
	for _, c := range order {
		for _, l := range ins[c] {
			c.layer = max(c.layer, l.upper.layer+l.length)
		}
		last = max(last, c.layer)
	}
	for i := len(order) - 1; i >= 0; i-- {
		c := order[i]
		if len(outs[c]) == 0 || len(outs[c]) < len(ins[c]) {
			continue
		}
		lowest := last
		for _, l := range outs[c] {
			lowest = min(lowest, l.lower.layer-l.length)
		}
		c.layer = max(c.layer, lowest)
	}
	s.rankLonely(ins, outs, last)
	s.rankPorts()
}

// rankLonely puts boxes without arrows into rows below the others.
func (s *sheet) rankLonely(ins, outs map[*cell][]*link, last int) {
	const row = 5
	first, n := 0, 0
	if len(s.links) > 0 {
		first = last + 1
	}
	for _, c := range s.cells {
		if len(ins[c])+len(outs[c]) == 0 {
			c.layer = first + n/row
			n++
		}
	}
}

// rankPorts puts the crossings of the border into the first and the last layer.
func (s *sheet) rankPorts() {
	lowest, highest := 0, 1<<30
	for _, c := range s.cells {
		if c.box != nil {
			lowest, highest = max(lowest, c.layer), min(highest, c.layer)
		}
	}
	top := 0
	for _, c := range s.cells {
		if c.port != nil && !c.port.upper.within(s.frame) {
			top = 1
		}
	}
	for _, c := range s.cells {
		switch {
		case c.box != nil:
			c.layer += top - highest
		case c.port.upper.within(s.frame):
			c.layer = lowest - highest + top + 1
		default:
			c.layer = 0
		}
	}
}

// topological orders the cells so that all arrows lead forward.
func (s *sheet) topological() []*cell {
	outs := map[*cell][]*cell{}
	for _, l := range s.links {
		outs[l.upper] = append(outs[l.upper], l.lower)
	}
	seen := map[*cell]bool{}
	var order []*cell
	var visit func(c *cell)
	visit = func(c *cell) {
		if seen[c] {
			return
		}
		seen[c] = true
		for i := len(outs[c]) - 1; i >= 0; i-- {
			visit(outs[c][i])
		}
		order = append(order, c)
	}
	for i := len(s.cells) - 1; i >= 0; i-- {
		visit(s.cells[i])
	}
	for i, j := 0, len(order)-1; i < j; i, j = i+1, j-1 {
		order[i], order[j] = order[j], order[i]
	}
	return order
}

// cut divides links into pieces from layer to layer, with a cell for the label.
func (s *sheet) cut() {
	for _, l := range s.links {
		at := l.upper
		middle := (l.upper.layer + l.lower.layer) / 2
		for layer := l.upper.layer + 1; layer <= l.lower.layer; layer++ {
			next := l.lower
			if layer < l.lower.layer {
				next = &cell{layer: layer, width: lane}
				if l.length == 2 && layer == middle {
					next.label, next.width, next.height = l.of, l.of.LabelWidth, l.of.LabelHeight
				}
				s.cells = append(s.cells, next)
			}
			p := &piece{upper: at, lower: next, of: l.of}
			at.down, next.up = append(at.down, p), append(next.up, p)
			l.pieces = append(l.pieces, p)
			at = next
		}
	}
	for _, c := range s.cells {
		for len(s.layers) <= c.layer {
			s.layers = append(s.layers, nil)
		}
		c.order = len(s.layers[c.layer])
		s.layers[c.layer] = append(s.layers[c.layer], c)
	}
}
