package asl

import (
	"encoding/json"
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/jsonpath"
)

// Limits of Step Functions that the package keeps.
const (
	// MaxDefinition is the largest definition, in bytes.
	MaxDefinition = 1 << 20
	// MaxPayload is the largest input or output of a state, task or
	// execution, in bytes of UTF-8.
	MaxPayload = 262144
	// MaxEvents is how many history events one standard execution may have.
	MaxEvents = 25000
	// MaxName is the longest name of a state, execution or variable, in
	// characters.
	MaxName = 80
)

// Type is the type of a state machine.
type Type string

// The types of state machines.
const (
	// Standard executions are durable and have a history of limited length.
	Standard Type = "STANDARD"
	// Express executions end within five minutes and have no callbacks,
	// activities, jobs or distributed Maps.
	Express Type = "EXPRESS"
)

// Machine is a checked definition, ready to run. It is immutable and safe for
// concurrent use.
type Machine struct {
	kind       Type
	definition json.RawMessage
	comment    string
	timeout    int64 // seconds, 0 for none
	block      *block
	states     map[string]*state
	processors map[string]*Machine
	resources  []Resource
}

// Type returns the type given to Load; Standard if none.
func (m *Machine) Type() Type { return m.kind }

// Comment returns the definition's comment.
func (m *Machine) Comment() string { return m.comment }

// Definition returns the definition, without white space.
func (m *Machine) Definition() json.RawMessage { return slices.Clone(m.definition) }

// Resources returns the resources of all Task states, each once, in the order
// of the definition, nested states included.
func (m *Machine) Resources() []Resource { return slices.Clone(m.resources) }

// Processor returns the machine that the child executions of a distributed Map
// state run, or nil if there is no such state.
func (m *Machine) Processor(mapState string) *Machine { return m.processors[mapState] }

// block is a StartAt with its States: the machine itself, a branch of a
// Parallel or the processor of a Map.
type block struct {
	start  *state
	states []*state
	byName map[string]*state
}

func (b *block) state(name string) *state { return b.byName[name] }

// stateType is the Type of a state.
type stateType string

const (
	typePass     stateType = "Pass"
	typeTask     stateType = "Task"
	typeChoice   stateType = "Choice"
	typeWait     stateType = "Wait"
	typeSucceed  stateType = "Succeed"
	typeFail     stateType = "Fail"
	typeParallel stateType = "Parallel"
	typeMap      stateType = "Map"
)

// state is one state with everything compiled that can be.
type state struct {
	name string
	kind stateType
	path string // in the definition
	next *state // nil at an end
	end  bool

	inputPath  *pathField
	outputPath *pathField
	resultPath *resultPath
	parameters *template // ItemSelector of a Map
	selector   *template // ResultSelector
	result     json.RawMessage
	assign     *template

	task     *taskSpec
	wait     *waitSpec
	choice   *choiceSpec
	fail     *failSpec
	mapping  *mapSpec
	branches []*block
	retry    []retrier
	catch    []catcher
}

// pathField is an InputPath or OutputPath; expr is nil for null.
type pathField struct {
	text string
	expr expression
}

// resultPath is a ResultPath; path is nil for null.
type resultPath struct {
	text string
	path *jsonpath.Path
}

type taskSpec struct {
	resource  Resource
	timeout   secondsField
	heartbeat secondsField
}

// secondsField is a number of seconds, given or read from the input.
type secondsField struct {
	value int64
	path  expression
	text  string
	field string
}

type waitSpec struct {
	seconds     json.RawMessage
	secondsPath expression
	at          string
	atPath      expression
	text        string
}

type failSpec struct {
	err, cause         *string
	errPath, causePath expression
}

type choiceSpec struct {
	rules    []rule
	fallback *state
}

// rule is one of a Choice's Choices.
type rule struct {
	test   test
	next   *state
	assign *template
}

type retrier struct {
	errors      []string
	interval    int64
	maxAttempts int64
	maxDelay    int64 // 0 for none
	rate        float64
	jitter      bool
}

type catcher struct {
	errors     []string
	next       *state
	resultPath *resultPath
	assign     *template
}

type mapSpec struct {
	itemsPath     expression
	body          *block
	distributed   bool
	childType     Type
	label         string
	concurrency   secondsField
	tolerateCount numberField
	toleratePart  numberField
	batch         *batchSpec
}

// numberField is a number, given or read from the input.
type numberField struct {
	value json.RawMessage
	path  expression
	text  string
}

func (n numberField) set() bool { return n.value != nil || n.path != nil }

type batchSpec struct {
	maxItems numberField
	maxBytes numberField
	input    *template
}
