package layout

// wide is how wide a picture may be before what no arrow connects is put into
// rows of that width.
const wide = 1500

// part is a set of outermost boxes that no arrow connects to others.
type part struct {
	root   *Box
	arrows []Arrow
	// numbers are the arrows' in the whole picture.
	numbers []int
}

// packed arranges parts in rows; nil where there is only one.
func packed(root *Box, arrows []Arrow, width float64) *Picture {
	parts := separate(root, arrows)
	if len(parts) < 2 || root.TitleHeight > 0 {
		return nil
	}
	whole := &Picture{Boxes: map[string]Rect{}, Routes: make([]Route, len(arrows))}
	x, y, height := 0.0, 0.0, 0.0
	for _, one := range parts {
		p := arrange(one.root, one.arrows)
		if x > 0 && x+p.Width > width {
			x, y, height = 0, y+height, 0
		}
		whole.add(p, one.numbers, Point{x, y})
		x, height = x+p.Width, max(height, p.Height)
		whole.Width, whole.Height = max(whole.Width, x), y+height
	}
	return whole
}

// add puts a part at a place; numbers are those of its arrows in the whole.
func (p *Picture) add(part *Picture, numbers []int, at Point) {
	for id, r := range part.Boxes {
		p.Boxes[id] = r.moved(at)
	}
	for i, route := range part.Routes {
		out := Route{}
		for _, point := range route.Points {
			out.Points = append(out.Points, Point{point.X + at.X, point.Y + at.Y})
		}
		if route.Label != (Rect{}) {
			out.Label = route.Label.moved(at)
		}
		p.Routes[numbers[i]] = out
	}
}

func (r Rect) moved(by Point) Rect {
	return Rect{X: r.X + by.X, Y: r.Y + by.Y, Width: r.Width, Height: r.Height}
}

// separate finds the parts, in the order of their first boxes.
func separate(root *Box, arrows []Arrow) []part {
	owner := map[string]int{}
	for i, box := range root.Inside {
		box.own(i, owner)
	}
	group := make([]int, len(root.Inside))
	for i := range group {
		group[i] = i
	}
	for _, a := range arrows {
		from, known := owner[a.From]
		to, knownToo := owner[a.To]
		if known && knownToo && group[from] != group[to] {
			kept, gone := min(group[from], group[to]), max(group[from], group[to])
			for i := range group {
				if group[i] == gone {
					group[i] = kept
				}
			}
		}
	}
	var parts []part
	place := map[int]int{}
	for i, box := range root.Inside {
		n, begun := place[group[i]]
		if !begun {
			n = len(parts)
			place[group[i]] = n
			parts = append(parts, part{root: &Box{ID: root.ID}})
		}
		parts[n].root.Inside = append(parts[n].root.Inside, box)
	}
	for i, a := range arrows {
		from, known := owner[a.From]
		if _, knownToo := owner[a.To]; known && knownToo {
			one := &parts[place[group[from]]]
			one.arrows, one.numbers = append(one.arrows, a), append(one.numbers, i)
		}
	}
	return parts
}

// own notes the outermost box that everything lies in.
func (b *Box) own(number int, owner map[string]int) {
	owner[b.ID] = number
	for _, inner := range b.Inside {
		inner.own(number, owner)
	}
}
