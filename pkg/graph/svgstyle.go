package graph

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// colours are one kind's in one theme: ground, border, text.
type colours struct{ ground, border, text string }

// look is how a kind is drawn and what the legend calls it; the same in all
// forms that have colours.
type look struct {
	kind        Kind
	words       string
	light, dark colours
}

var looks = []look{
	{KindStep, "step", colours{"#ffffff", "#5a6472", "#17202b"}, colours{"#1f2630", "#8b98a9", "#e8edf3"}},
	{KindAction, "system change", colours{"#d8e8ff", "#1f4e9c", "#10233f"}, colours{"#16324f", "#7fb2ff", "#e3efff"}},
	{KindReview, "review", colours{"#dcf4e3", "#2a7a45", "#0f2f1a"}, colours{"#173524", "#74cf94", "#e0f6e8"}},
	{KindApproval, "approval by people", colours{"#fff0c9", "#a36a00", "#3d2a00"}, colours{"#3d2e0c", "#e5b454", "#fff1d1"}},
	{KindDecision, "decision", colours{"#e9defc", "#5b3a9e", "#24163f"}, colours{"#2d2047", "#b79bf2", "#efe7ff"}},
	{KindException, "exception", colours{"#ffdcd9", "#a82a1f", "#3f0f0b"}, colours{"#481a16", "#ff8f85", "#ffe5e2"}},
	{KindWait, "wait", colours{"#eef0f2", "#5a6472", "#17202b"}, colours{"#2a323d", "#8b98a9", "#e8edf3"}},
	{KindLoop, "loop", colours{"#d5f0f2", "#17717a", "#08292c"}, colours{"#12363a", "#67c7d0", "#def6f8"}},
	{KindFact, "shared fact", colours{"#f3ead8", "#7a5a1e", "#2f220b"}, colours{"#362b17", "#d0ab68", "#f7ecd8"}},
	{KindEvent, "event", colours{"#fbe1f0", "#94336b", "#3a1029"}, colours{"#401a30", "#ec8dc2", "#fde6f2"}},
	{KindSource, "from outside", colours{"#eef0f2", "#5a6472", "#17202b"}, colours{"#2a323d", "#8b98a9", "#e8edf3"}},
	{KindStart, "", colours{"#33404f", "#33404f", "#ffffff"}, colours{"#c9d3df", "#c9d3df", "#10161d"}},
	{KindEnd, "", colours{"#33404f", "#33404f", "#ffffff"}, colours{"#c9d3df", "#c9d3df", "#10161d"}},
}

// ground is what a picture has besides its shapes.
type ground struct{ paper, frame, border, line, text, fail string }

var (
	lightGround = ground{"#ffffff", "#f6f7f9", "#c3cad3", "#4a5563", "#33404f", "#a82a1f"}
	darkGround  = ground{"#12171e", "#191f28", "#3b4654", "#a3b0bf", "#cfd8e3", "#ff8f85"}
)

// markers are the arrows' heads.
const markers = `<defs>
<marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path class="marker" d="M0 0L10 5L0 10z"/></marker>
<marker id="cross" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path class="marker-cross" d="M1 1L9 9M9 1L1 9"/></marker>
</defs>
`

// css is the picture's style sheet. Every rule names the picture's class, so
// that several pictures and a page can stand together.
func css(theme Theme) string {
	base := fmt.Sprintf(`
.outerloop text{font-family:ui-sans-serif,system-ui,"Helvetica Neue",Arial,"DejaVu Sans",sans-serif;font-size:%gpx;text-anchor:middle}
.outerloop .name{font-weight:600}
.outerloop .title{font-size:%gpx;text-anchor:start;font-weight:600}
.outerloop .label,.outerloop .note{font-size:%gpx}
.outerloop .note{text-anchor:start}
.outerloop .shape{stroke-width:1.4}
.outerloop .frame{stroke-width:1;stroke-dasharray:5 3}
.outerloop .bars{fill:none;stroke-width:1.2}
.outerloop .arrow{fill:none;stroke-width:1.3}
.outerloop .awaited,.outerloop .back{stroke-dasharray:5 4}
.outerloop .failing{stroke-dasharray:2 3}
.outerloop .marker-cross{fill:none;stroke-width:2}
`, fontSize, smallSize, smallSize)
	light, dark := rules(lightGround, func(l look) colours { return l.light }), rules(darkGround, func(l look) colours { return l.dark })
	switch theme {
	case Light:
		return base + light
	case Dark:
		return base + dark
	}
	return base + light + "@media (prefers-color-scheme: dark){\n" + dark + "}\n"
}

func rules(g ground, of func(look) colours) string {
	var b strings.Builder
	rule := func(selectors, body string) {
		for i, s := range strings.Split(selectors, ",") {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(".outerloop " + s)
		}
		b.WriteString("{" + body + "}\n")
	}
	rule(".paper", "fill:"+g.paper)
	rule(".label-ground", "fill:"+g.paper+";fill-opacity:.88")
	rule(".frame", "fill:"+g.frame+";stroke:"+g.border)
	rule("text", "fill:"+g.text)
	rule(".arrow,.marker-cross", "stroke:"+g.line)
	rule(".marker", "fill:"+g.line)
	rule(".failing", "stroke:"+g.fail)
	for _, l := range looks {
		c := of(l)
		rule(".shape."+string(l.kind), "fill:"+c.ground+";stroke:"+c.border)
		rule(".bars."+string(l.kind), "stroke:"+c.border)
		rule(".text.on-"+string(l.kind), "fill:"+c.text)
	}
	return b.String()
}

// legend is the strip below the picture.
type legend struct {
	text          string
	width, height float64
}

// legend explains the kinds that occur, and prints the notes.
func (d *drawing) legend() legend {
	used := map[Kind]bool{}
	for _, v := range d.vertices {
		used[v.Kind] = true
	}
	var b strings.Builder
	x, y, widest := 16.0, d.picture.Height+6, 0.0
	for _, l := range looks {
		if !used[l.kind] || l.words == "" {
			continue
		}
		wide := widthOf(l.words, smallSize) + 34
		if x > 16 && x+wide > max(d.picture.Width, 480) {
			x, y = 16, y+20
		}
		fmt.Fprintf(&b, `<rect class="shape %s" x="%s" y="%s" width="16" height="11" rx="2"/><text class="note" x="%s" y="%s">%s</text>`+"\n",
			l.kind, px(x), px(y), px(x+21), px(y+10), l.words)
		x += wide
		widest = max(widest, x)
	}
	for _, note := range d.graph.Notes {
		for i, line := range wrap(note, 100) {
			y += 17
			if i == 0 {
				y += 6
			}
			fmt.Fprintf(&b, `<text class="note" x="16" y="%s">%s</text>`+"\n", px(y+10), html.EscapeString(line))
			widest = max(widest, widthOf(line, smallSize))
		}
	}
	return legend{b.String(), widest, y + 26 - d.picture.Height}
}

// lookOf finds how a kind is drawn.
func lookOf(k Kind) look {
	i := slices.IndexFunc(looks, func(l look) bool { return l.kind == k })
	return looks[max(i, 0)]
}
