package layout

// align gives the cells their x: as straight below each other as their order
// and their widths allow.
func (s *sheet) align() {
	for _, layer := range s.layers {
		at := 0.0
		for i, c := range layer {
			if i > 0 {
				at += apart(layer[i-1], c)
			}
			c.x = at
		}
	}
	const rounds = 40
	for i := range rounds {
		for j := range s.layers {
			layer := s.layers[j]
			if i%2 == 1 {
				layer = s.layers[len(s.layers)-1-j]
			}
			spread(layer, func(c *cell) (float64, float64) { return wish(c, i) })
		}
	}
}

// apart is the least distance of two neighbours' centres.
func apart(a, b *cell) float64 {
	gap := float64(besides)
	if a.box == nil || b.box == nil {
		gap = besides / 2
	}
	return (a.width+b.width)/2 + gap
}

// wish is where a cell would like to stand, and how much: even rounds look up,
// odd ones down, the last ones both ways.
func wish(c *cell, round int) (at, weight float64) {
	sum := 0.0
	look := func(pieces []*piece, upwards bool) {
		for _, p := range pieces {
			w := pull(p)
			to := p.lower.x + anchor(p.lower, p.of, false) - anchor(c, p.of, true)
			if upwards {
				to = p.upper.x + anchor(p.upper, p.of, true) - anchor(c, p.of, false)
			}
			sum, weight = sum+w*to, weight+w
		}
	}
	if round%2 == 0 || round > 33 || len(c.down) == 0 {
		look(c.up, true)
	}
	if round%2 == 1 || round > 33 || len(c.up) == 0 {
		look(c.down, false)
	}
	if weight == 0 {
		return c.x, 0.01
	}
	return sum / weight, weight
}

// pull is how straight a piece wants to be: long arrows the most.
func pull(p *piece) float64 {
	w := 1.0
	for _, c := range []*cell{p.upper, p.lower} {
		if c.box == nil {
			w *= 4
		}
	}
	return w
}

// anchor is where an arrow touches a frame's border, from its centre; 0 for
// arrows to the box itself.
func anchor(c *cell, of *course, bottom bool) float64 {
	if c.box == nil {
		return 0
	}
	x, crosses := c.box.ports[of]
	if !crosses || bottom != of.upper.within(c.box) {
		return 0
	}
	return x - c.width/2
}

// spread moves the cells of a layer to where they wish to be, in their order
// and with their distances: the least squares under these constraints, found
// by pooling neighbours that would be in each other's way.
func spread(layer []*cell, wish func(*cell) (at, weight float64)) {
	type pool struct {
		sum, weight float64
		cells       int
	}
	offsets := make([]float64, len(layer))
	var pools []pool
	for i, c := range layer {
		if i > 0 {
			offsets[i] = offsets[i-1] + apart(layer[i-1], c)
		}
		at, weight := wish(c)
		pools = append(pools, pool{(at - offsets[i]) * weight, weight, 1})
		for len(pools) > 1 {
			last, before := pools[len(pools)-1], pools[len(pools)-2]
			if before.sum/before.weight <= last.sum/last.weight {
				break
			}
			pools = append(pools[:len(pools)-2], pool{before.sum + last.sum, before.weight + last.weight, before.cells + last.cells})
		}
	}
	i := 0
	for _, p := range pools {
		for range p.cells {
			layer[i].x = p.sum/p.weight + offsets[i]
			i++
		}
	}
}
