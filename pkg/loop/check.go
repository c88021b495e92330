package loop

import (
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/problem"
	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// MaxSteps bounds the steps of one loop, those in its blocks included.
const MaxSteps = 500

func countSteps(steps []*Step) int {
	n := len(steps)
	for _, s := range steps {
		if s.Each != nil {
			n += countSteps(s.Each.Steps)
		}
		if s.Branches != nil {
			for _, b := range s.Branches.Branches {
				n += countSteps(b.Steps)
				if b.Step != nil {
					n += countSteps([]*Step{b.Step})
				}
			}
		}
		for _, way := range s.Switch {
			n += countSteps(way.Steps)
		}
	}
	return n
}

// Check checks a loop against its surroundings. All problems are reported; the
// definition is nil when there are errors among them, or in a worker or loop
// that it names.
func Check(l *Loop, around Surroundings) (*Definition, problem.Problems) {
	c := newChecker(around)
	c.loop = l
	if n := countSteps(l.Steps); n > MaxSteps {
		c.fault(l.Source.Key("steps"), "E102", "The loop has %d steps; %d are the most that one loop may have. Make loops of their own of some, and call them as steps (`loop: NAME`).", n, MaxSteps)
		return nil, c.problems
	}
	c.def = &Definition{Loop: l, Project: around.Project, Workers: map[string]*Worker{}, byPath: map[string]*Node{}}
	c.head()
	c.buildNodes()
	c.findDependencies()
	c.order()
	c.number()
	c.compileBody(c.def.Body)
	c.compileTail()
	c.structure()
	if c.problems.Errors() > 0 || c.incomplete {
		return nil, c.problems
	}
	return c.def, c.problems
}

// checker holds what the check of one loop or charter has found so far.
type checker struct {
	around   Surroundings
	loop     *Loop
	def      *Definition
	zone     *time.Location
	problems problem.Problems
	// incomplete: what the loop names has errors of its own.
	incomplete bool

	// names are all names of the file; labels are where nodes are named.
	names   map[string]named
	labels  map[*Node]*source.Node
	outputs map[*Node]source.Value
	// depends are the nodes that a node's own expressions read or that it stands after.
	depends map[*Node][]Dependency
	// before are the siblings that must be done first, by node.
	before map[*Node][]*Node
	// items are the types of items, inputs that of the file's `input`.
	items     map[*Node]*schema.Type
	inputType *schema.Type
	// work is set when the file is a charter, whose `input` is the worker's own.
	work   *charter.Charter
	envs   envCache
	parsed map[string]parsed
}

func newChecker(around Surroundings) *checker {
	return &checker{
		around: around, zone: time.UTC, names: map[string]named{}, labels: map[*Node]*source.Node{},
		outputs: map[*Node]source.Value{}, depends: map[*Node][]Dependency{}, before: map[*Node][]*Node{},
		items: map[*Node]*schema.Type{}, inputType: anything, envs: envCache{}, parsed: map[string]parsed{},
	}
}

var anything = schema.Scalar(schema.Any)

func (c *checker) fault(n *source.Node, code, format string, args ...any) {
	c.problems = append(c.problems, n.Problem(code, fmt.Sprintf(format, args...)))
}

// faultSee is fault with another place that matters.
func (c *checker) faultSee(n, see *source.Node, code, message string) {
	p := n.Problem(code, message)
	if see != nil {
		p.See = see.Where()
	}
	c.problems = append(c.problems, p)
}

func (c *checker) add(ps problem.Problems) { c.problems = append(c.problems, ps...) }

// keyOf is where a step's key stands, or its name where the key was left out.
func (c *checker) keyOf(n *Node, key string) *source.Node {
	if n.Step != nil && n.Step.Source.Get(key) != nil {
		return n.Step.Source.Key(key)
	}
	return c.labelOf(n)
}

// labelOf is where the node is named.
func (c *checker) labelOf(n *Node) *source.Node {
	for ; n != nil; n = n.Parent {
		if label := c.labels[n]; label != nil {
			return label
		}
	}
	return c.loop.Source
}
