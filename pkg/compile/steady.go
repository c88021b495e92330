package compile

import (
	"github.com/outerloop-dev/outerloop/pkg/loop"
)

// steady tells whether a Map may hold back the items of a block itself: its
// steps are called directly, and nothing in it waits for a person, a queue, a
// clock or another run, so no item holds its place for longer than its own
// work. Other blocks let all items in, and only the gate gives turns: an item
// that waits for a person holds up no others.
func steady(n *loop.Node) bool {
	return n.Each.MaxItems > n.Each.AtOnce && steadyBody(n.Body)
}

func steadyBody(b *loop.Body) bool { return b == nil || steadyAll(b.Nodes) }

func steadyAll(nodes []*loop.Node) bool {
	for _, n := range nodes {
		if !steadyNode(n) {
			return false
		}
	}
	return true
}

func steadyNode(n *loop.Node) bool {
	if asking(n.Join) {
		return false
	}
	switch n.Kind {
	case loop.KindWorker:
		return !queued(n.Mode) && (n.Review == nil || !queued(n.Review.Mode)) && steadyRules(n)
	case loop.KindRoute:
		for _, row := range n.Routes {
			if row.Worker == nil || queued(row.Mode) {
				return false
			}
		}
		return steadyRules(n)
	case loop.KindBranches:
		return steadyAll(n.Branches)
	case loop.KindSwitch:
		return steadyAll(n.Cases)
	case loop.KindGroup, loop.KindCase:
		return steadyBody(n.Body)
	}
	return false
}

// steadyRules tells whether no rule of a step waits for a person.
func steadyRules(n *loop.Node) bool {
	return n.Approval == nil && (n.Failure == nil || n.Failure.Then != loop.EndingAsk)
}

// pageItems is how many items a page has, before its events are counted. The
// pages of a steady block with few items at one time are long: one page after
// the other is done, and its places are never empty but at its end.
func pageItems(n *loop.Node) int {
	if steady(n) && n.Each.AtOnce <= inlineItems {
		return steadyItems
	}
	return inlineItems
}

// itemsAtOnce, pagesAtOnce and chaptersAtOnce (of ranges of pages) are the MaxConcurrency of the
// levels of a block's Maps; 0: no bound. Where pages run side by side, there is
// one more than at_once needs, so that the last items of a page hold up nobody;
// the gate keeps the bound.
func itemsAtOnce(n *loop.Node) int {
	if steady(n) && n.Each.AtOnce <= inlineItems {
		return n.Each.AtOnce
	}
	return 0
}

func pagesAtOnce(n *loop.Node) int { return levelAtOnce(n, inlineItems) }

// chaptersAtOnce is 1 where a chapter has many items for each place.
func chaptersAtOnce(n *loop.Node) int {
	if steady(n) && 4*n.Each.AtOnce <= rangeItems {
		return 1
	}
	return levelAtOnce(n, rangeItems)
}

// levelAtOnce is how many parts with so many items each run at one time.
func levelAtOnce(n *loop.Node, items int) int {
	switch {
	case !steady(n):
		return 0
	case n.Each.AtOnce <= inlineItems:
		return 1
	}
	return (n.Each.AtOnce+items-1)/items + 1
}

// concurrency sets a Map's MaxConcurrency, where there is a bound.
func concurrency(state *object, most int) {
	if most > 0 {
		state.set("MaxConcurrency", most)
	}
}
