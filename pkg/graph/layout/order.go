package layout

import (
	"cmp"
	"slices"
)

// sort orders the cells of each layer so that few arrows cross: by the mean
// place of their neighbours, up and down in turn, keeping the best found.
func (s *sheet) sort() {
	s.firstOrder()
	best, least := s.orders(), s.crossings()
	for i := range 24 {
		if least == 0 {
			break
		}
		s.sweep(i%2 == 0)
		s.swap()
		if n := s.crossings(); n < least {
			best, least = s.orders(), n
		}
	}
	copy(s.layers, best)
	s.number()
}

// firstOrder follows the arrows from the top, in the order of the input.
func (s *sheet) firstOrder() {
	seen := map[*cell]bool{}
	var visited []*cell
	var visit func(c *cell)
	visit = func(c *cell) {
		if seen[c] {
			return
		}
		seen[c] = true
		visited = append(visited, c)
		for _, p := range c.down {
			visit(p.lower)
		}
	}
	for _, layer := range s.layers {
		for _, c := range layer {
			visit(c)
		}
	}
	for i := range s.layers {
		s.layers[i] = s.layers[i][:0]
	}
	for _, c := range visited {
		s.layers[c.layer] = append(s.layers[c.layer], c)
	}
	s.number()
}

func (s *sheet) number() {
	for _, layer := range s.layers {
		for i, c := range layer {
			c.order = i
		}
	}
}

func (s *sheet) orders() [][]*cell {
	out := make([][]*cell, len(s.layers))
	for i, layer := range s.layers {
		out[i] = slices.Clone(layer)
	}
	return out
}

// sweep sorts each layer by the mean of the neighbours in the layer before.
func (s *sheet) sweep(down bool) {
	for i := range s.layers {
		layer := s.layers[i]
		if !down {
			layer = s.layers[len(s.layers)-1-i]
		}
		mean := map[*cell]float64{}
		for _, c := range layer {
			mean[c] = meanOrder(c, down)
		}
		slices.SortStableFunc(layer, func(a, b *cell) int { return cmp.Compare(mean[a], mean[b]) })
		for j, c := range layer {
			c.order = j
		}
	}
}

func meanOrder(c *cell, down bool) float64 {
	sum, n := 0.0, 0
	pieces := c.up
	if !down {
		pieces = c.down
	}
	for _, p := range pieces {
		other := p.upper
		if !down {
			other = p.lower
		}
		sum, n = sum+float64(other.order), n+1
	}
	if n == 0 {
		return float64(c.order)
	}
	return sum / float64(n)
}

// swap exchanges neighbours where that removes crossings.
func (s *sheet) swap() {
	for changed, rounds := true, 0; changed && rounds < 8; rounds++ {
		changed = false
		for _, layer := range s.layers {
			for i := 0; i+1 < len(layer); i++ {
				a, b := layer[i], layer[i+1]
				if between(b, a) < between(a, b) {
					layer[i], layer[i+1] = b, a
					a.order, b.order = i+1, i
					changed = true
				}
			}
		}
	}
}

// between counts the crossings of the arrows of two cells, a left of b.
func between(a, b *cell) int {
	n := 0
	for _, p := range a.up {
		for _, q := range b.up {
			if p.upper.order > q.upper.order {
				n++
			}
		}
	}
	for _, p := range a.down {
		for _, q := range b.down {
			if p.lower.order > q.lower.order {
				n++
			}
		}
	}
	return n
}

func (s *sheet) crossings() int {
	n := 0
	for _, layer := range s.layers {
		var pieces []*piece
		for _, c := range layer {
			pieces = append(pieces, c.down...)
		}
		for i, p := range pieces {
			for _, q := range pieces[i+1:] {
				if (p.upper.order-q.upper.order)*(p.lower.order-q.lower.order) < 0 {
					n++
				}
			}
		}
	}
	return n
}
