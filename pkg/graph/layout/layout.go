// Package layout places boxes that contain boxes, and the arrows between them,
// in layers from top to bottom. It knows nothing of what the boxes stand for.
//
// Boxes never overlap, arrows never run through a box that is not one of their
// ends or around one of them, and labels have a place of their own: labels and
// the long parts of arrows are laid out as if they were boxes. The same input
// gives the same picture. Lengths are in pixels.
//
// The known libraries were not used since the command line would pay for them
// at every start: github.com/goccy/go-graphviz compiles WebAssembly in its
// package initialisation (180 ms), oss.terrastruct.com/d2 unpacks fonts in its
// own (18 ms, and 20 MB of binary).
package layout

// Box is something to be placed: a leaf of a given size, or a frame around others.
type Box struct {
	// ID is unique in the picture. The root's may be empty.
	ID string
	// Width and Height are a leaf's size; of a frame they are ignored.
	Width, Height float64
	// Inside are the boxes of a frame; nil for a leaf.
	Inside []*Box
	// TitleWidth and TitleHeight are kept free at the top of a frame.
	TitleWidth, TitleHeight float64
}

// Arrow leads from one box to another, across frames where it must. An arrow
// between a box and a frame around it is not drawn.
type Arrow struct {
	From, To string
	// LabelWidth and LabelHeight are the size of the label; 0: none.
	LabelWidth, LabelHeight float64
	// Back marks an arrow against the flow: it does not decide who stands above.
	Back bool
}

// Point is a place in the picture; y grows downwards.
type Point struct{ X, Y float64 }

// Rect is a placed box.
type Rect struct{ X, Y, Width, Height float64 }

// Overlaps tells whether two rectangles share more than a border.
func (r Rect) Overlaps(o Rect) bool {
	const hair = 1e-6
	return r.X < o.X+o.Width-hair && o.X < r.X+r.Width-hair && r.Y < o.Y+o.Height-hair && o.Y < r.Y+r.Height-hair
}

// Contains tells whether o lies inside r, borders included.
func (r Rect) Contains(o Rect) bool {
	const hair = 1e-6
	return o.X >= r.X-hair && o.Y >= r.Y-hair && o.X+o.Width <= r.X+r.Width+hair && o.Y+o.Height <= r.Y+r.Height+hair
}

// Route is a placed arrow.
type Route struct {
	// Points lead from the first box to the second; empty for an arrow that is
	// not drawn. Between two points of different x a curve with vertical ends
	// stays clear of all boxes.
	Points []Point
	// Label is where the label goes; zero without one.
	Label Rect
}

// Picture is the result.
type Picture struct {
	Width, Height float64
	Boxes         map[string]Rect
	// Routes are in the order of the arrows.
	Routes []Route
}

// Distances between what is placed.
const (
	padding  = 16 // between a frame and what is in it
	besides  = 24 // between boxes of a layer
	lane     = 12 // width of an arrow that passes a layer
	layers   = 22 // between layers
	minTitle = 8
)

// Arrange places everything. The root's children are the outermost boxes;
// arrows that name unknown boxes are not drawn. A picture that would be wide has
// what no arrow connects in rows.
func Arrange(root *Box, arrows []Arrow) *Picture { return within(root, arrows, wide) }

func within(root *Box, arrows []Arrow, width float64) *Picture {
	p := arrange(root, arrows)
	if p.Width > width {
		if rows := packed(root, arrows, width); rows != nil {
			return rows
		}
	}
	return p
}

func arrange(root *Box, arrows []Arrow) *Picture {
	a := newArrangement(root, arrows)
	a.orient()
	a.place(a.root)
	p := &Picture{Boxes: map[string]Rect{}, Routes: make([]Route, len(arrows))}
	p.Width, p.Height = a.root.width, a.root.height
	a.root.settle(0, 0, p.Boxes)
	for i := range a.arrows {
		p.Routes[i] = a.arrows[i].route()
	}
	return p
}
