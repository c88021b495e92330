package loop

import (
	"encoding/json"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/registry"
	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// Definition is a checked loop: everything that compiling and running it needs,
// with defaults applied, names resolved and rules compiled. It is immutable and
// safe for concurrent use.
type Definition struct {
	// Hash is the bundle's SHA-256 in hex; empty when the loop was not bundled.
	Hash string
	Loop *Loop
	// Nodes are all steps, blocks, groups and cases: a block before its
	// content, and within a body in an order that respects the dependencies,
	// ties broken by the order of the file.
	Nodes []*Node
	// Body holds the top-level steps.
	Body *Body
	// Workers are all workers the loop can reach, agents' tools included, by name.
	Workers map[string]*Worker
	Zone    *time.Location
	// Keep is how long closed runs are kept, as the loop or the project says; 0: nobody does.
	Keep time.Duration
	// Project is the whole project file the loop was checked with.
	Project *registry.Project

	// Input is the schema of the loop's input; OutputType is the type of Output.
	Input      *schema.Schema
	OutputType *schema.Type
	Subject    *Phrase
	Triggers   []TriggerRule
	// Deadline is set when the budget's deadline is a time from the input.
	Deadline *Tree
	// Output is nil where the loop declares none: its output then is null.
	Output *Tree
	Accept []AcceptRule
	// Events are the schemas of the events that the loop waits for or starts by, by name.
	Events map[string]*schema.Schema
	// Webhooks are the schemas of the bodies of the webhooks that it starts by, by
	// name; one that declares none is not among them.
	Webhooks map[string]*schema.Schema

	byPath map[string]*Node
}

// Node finds a node by its static path ("follow_up/draft").
func (d *Definition) Node(path string) (*Node, bool) {
	n, ok := d.byPath[path]
	return n, ok
}

// Worker is a checked charter.
type Worker struct {
	Charter *charter.Charter
	// Document is the charter as JSON, the worker's copy (R20).
	Document json.RawMessage
	Input    *schema.Schema
	Output   *schema.Schema
	// Limits and Escalate are the charter's; their `input` is the worker's own.
	Limits   []LimitRule
	Escalate []EscalationRule
	// Actions hold the compiled values of the charter's actions by name; Key and
	// Resource are nil where the charter gives none.
	Actions map[string]*ActionRule
	// Prompt is the text of an agent's prompt, or of that for a model which does
	// the work of a worker of kind go; empty for others.
	Prompt string

	// faulty: the charter has errors; no definition has such a worker.
	faulty bool
}

// Node is a step, block, group or case of a checked loop.
type Node struct {
	// Path is static: block names, branch names and numbers of cases (from 1) joined by slashes.
	Path string
	Name string
	Kind StepKind
	// Step is the declaration; nil for groups and cases.
	Step *Step
	// Parent is the block, group or case that contains the node; nil at the top.
	Parent *Node
	// Position is the index in Definition.Nodes.
	Position int
	// Depth is how many `each` blocks contain the node: the length of its item address.
	Depth int

	// Needs are all nodes the step waits for, without duplicates, in the order of Definition.Nodes.
	Needs []Dependency
	When  *Rule
	Input *Tree
	// Reads are the facts bound to facts.NAME.
	Reads  []FactReadRule
	Writes []FactWriteRule
	Emit   *EmitRule
	Within time.Duration

	// Worker does the step (KindWorker); Backup takes over; nil: none.
	Worker *Worker
	Backup *Worker
	// Mode is how the step's work is dispatched, after the language's default.
	Mode charter.Mode
	// Routes are the rows of KindRoute; their labels are their numbers from 1.
	// RouteBy are the values that choose, in the order of the file.
	Routes  []RouteRule
	RouteBy []NamedRule
	// Accept, Limits, Review and Approval are the step's rules. Limits are the
	// step's own, then the charter's; the strictest that breaks wins.
	Accept []AcceptRule
	Limits []LimitRule
	Review *ReviewRule
	// Approval is how people are asked, for whatever reason; nil: nothing can ask,
	// or nothing says how: then low confidence and escalations raise an exception.
	Approval *ApprovalRule
	// Action is nil where the step has none.
	Action *ActionRule
	// Failure is the effective rule. Groups and cases have none.
	Failure *FailureRules

	// Sub is the loop of KindLoop.
	Sub *Definition
	// Each is set for KindEach; its steps are in Body.
	Each *EachRule
	// Join is set for KindEach and KindBranches.
	Join *Join
	// Branches are the branches of KindBranches: groups or single steps, in the order of the file.
	Branches []*Node
	// Cases are the cases of KindSwitch, each a node of KindCase, labelled "1", "2", …
	Cases []*Node
	// CaseWhen is the rule of a KindCase; nil for the last way, `otherwise`.
	CaseWhen *Rule
	// Body holds the steps of KindEach, KindGroup and KindCase.
	Body *Body
	Wait *WaitRule

	// Decider is the step whose settle answers what this block, route or wait asks
	// (label, items, until), as it stands right before it; nil: the machine asks
	// the coordinator. Decides is the other direction.
	Decider *Node
	Decides *Node

	// OutputType is the type of what other steps read; nil for a wait for a time.
	OutputType *schema.Type
}

// Dependency is one node that a step waits for.
type Dependency struct {
	Node *Node
	// Waits: only waited for (default() or about); else the step does not run
	// when Node gave no output.
	Waits bool
	// After: named by `after`.
	After bool
	// Fields are what is read of it: paths such as "stale" or "about.confidence",
	// in the order of the file; "" is the whole output.
	Fields []string
}

// Body is a scope: the steps of a loop, an item, a group or a case.
type Body struct {
	// Owner is the node it belongs to; nil for the loop.
	Owner *Node
	// Nodes are the direct children, in the order of Definition.Nodes.
	Nodes []*Node
	// Plan is how they run; nil for an empty body.
	Plan *Plan
	// Output is the body's declared output; nil: none.
	Output *Tree
}

// Plan is the series-parallel structure of a body: exactly one of Node,
// Sequence, Parallel is set.
type Plan struct {
	Node     *Node
	Sequence []*Plan
	Parallel []*Plan
	// Levelled marks a sequence of levels that makes steps wait for more than
	// they need, since the dependencies are not series-parallel.
	Levelled bool
}
