package compile

import (
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/loop"
)

const (
	// inlineItems is how many iterations an inline Map runs at one time.
	inlineItems = 40
	// steadyItems is how many items a page has of which only a few are under
	// way: as many numbers as stay under 2 KB with the page's own state.
	steadyItems = 250
	// rangeItems is how many numbers States.ArrayRange gives at most.
	rangeItems = 1000
	// ranges is how many ranges an answer may list and stay under 2 KB.
	ranges = 100
	// pageEvents bounds the history of a page: far enough from 25,000 events
	// for redeliveries that no rule counts.
	pageEvents = 15000
)

// pages are the page sizes of a block, from the outermost level inwards; empty
// for an inline Map. They depend on what is declared only.
func (c *compiler) pages(n *loop.Node) []int {
	most := n.Each.MaxItems
	fits := max(1, pageEvents/(c.bodyEvents(n.Body)+2))
	if most <= min(inlineItems, fits) {
		return nil
	}
	size := min(pageItems(n), fits)
	switch {
	case most <= size*ranges:
		return []int{size}
	case most <= rangeItems*ranges:
		return []int{rangeItems / size * size, size}
	}
	c.fail("%s: max_items is %d; one block runs at most %d items: split the list over several runs or sub-loops",
		n.Path, most, rangeItems*ranges)
	return nil
}

// each emits a block over items: one inline Map, or distributed Maps over pages.
func (s *scope) each(n *loop.Node, next string) {
	name := s.name(n.Path)
	var state object
	switch pages := s.pages(n); len(pages) {
	case 0:
		state = s.items(n, "$.o.items")
	case 1:
		state = s.distributed(n, "$.o.items", member{
			"items.$", "States.ArrayRange($$.Map.Item.Value[0], $$.Map.Item.Value[1], 1)",
		})
	default:
		state = s.chapters(n, pages[1])
	}
	state.set("ResultPath", nil)
	flow(&state, next)
	s.add(name, state)
}

// items is the inline Map over item indexes.
func (s *scope) items(n *loop.Node, path string) object {
	inner := s.inner(n.Path)
	var start string
	if n.Body.Plan == nil {
		start = inner.empty(n.Path)
	} else {
		inner.plan(n.Body.Plan, "")
		start = inner.first(n.Body.Plan)
	}
	processor := object{{"ProcessorConfig", object{{"Mode", "INLINE"}}}}
	state := object{{"Type", "Map"}, {"Comment", eachComment(n)}, {"ItemsPath", path}}
	concurrency(&state, itemsAtOnce(n))
	return append(state, object{
		{"ItemSelector", object{
			{"run.$", "$.run"}, {"gen.$", "$.gen"},
			{"item.$", "States.Format('{}{}.', $.item, $$.Map.Item.Value)"}, {"o", nil},
		}},
		{"ItemProcessor", append(processor, inner.block(start)...)},
	}...)
}

// distributed is a distributed Map whose children run an inline Map over `items`.
func (s *scope) distributed(n *loop.Node, path string, items member) object {
	page := s.name(n.Path + ".page")
	inner := s.inner(page)
	state := inner.items(n, "$.items")
	state.set("ResultPath", nil)
	flow(&state, "")
	inner.add(page, state)
	return distributedMap(fanOut{
		comment: eachComment(n) + ", in pages", path: path, atOnce: pagesAtOnce(n),
		input: object{items}, block: inner.block(page),
	})
}

// chapters is a distributed Map over ranges of pages. A chapter's state has the
// first index of each page, and the last index of all, so that it stays small.
func (s *scope) chapters(n *loop.Node, size int) object {
	chapter := s.name(n.Path + ".pages")
	inner := s.inner(chapter)
	state := inner.distributed(n, "$.pages", member{"items.$", fmt.Sprintf(
		"States.ArrayGetItem(States.ArrayPartition(States.ArrayRange($$.Map.Item.Value, $.last, 1), %d), 0)", size)})
	state.set("ResultPath", nil)
	flow(&state, "")
	inner.add(chapter, state)
	return distributedMap(fanOut{
		comment: eachComment(n) + ", in ranges of pages", path: "$.o.items", atOnce: chaptersAtOnce(n),
		input: object{
			{"pages.$", fmt.Sprintf("States.ArrayRange($$.Map.Item.Value[0], $$.Map.Item.Value[1], %d)", size)},
			{"last.$", "$$.Map.Item.Value[1]"},
		},
		block: inner.block(chapter),
	})
}

// fanOut is a distributed Map: what its children get beside their place, and what they run.
type fanOut struct {
	comment, path string
	atOnce        int // 0: no bound
	input, block  object
}

func distributedMap(f fanOut) object {
	config := object{{"Mode", "DISTRIBUTED"}, {"ExecutionType", "STANDARD"}}
	state := object{{"Type", "Map"}, {"Comment", f.comment}, {"ItemsPath", f.path}}
	concurrency(&state, f.atOnce)
	return append(state, object{
		{"ItemSelector", append(object{{"run.$", "$.run"}, {"gen.$", "$.gen"}, {"item.$", "$.item"}}, f.input...)},
		{"ItemProcessor", append(object{{"ProcessorConfig", config}}, f.block...)},
	}...)
}

func eachComment(n *loop.Node) string {
	return fmt.Sprintf("For each %s, at most %d", n.Each.As, n.Each.MaxItems)
}
