package rule

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/common/containers"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/ext"

	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// DefaultCostLimit is the cost at which an evaluation is stopped where Config names no other: in CEL's units, about one for
// each operation and each item or ten characters touched; a million take roughly a third of a second.
const DefaultCostLimit = 1_000_000

// maxSource bounds an expression, in characters.
const maxSource = 20_000

// Config says what the rules of an Env may name.
type Config struct {
	// Names are the variables in scope with their types. Built-in ones have constructors (RunType, AboutType, …).
	Names map[string]*schema.Type
	// Zone is the loop's time zone, for day, week, month, quarter, next and month_end. Default UTC.
	Zone *time.Location
	// CostLimit stops an evaluation. Default DefaultCostLimit.
	CostLimit uint64
}

// Env compiles expressions over typed names. It is immutable and safe for concurrent use. Making one is cheap.
type Env struct {
	base    *base
	names   map[string]*schema.Type
	sorted  []string
	types   *provider
	checker *checker.Env
	limit   uint64
	planner func() (*cel.Env, error)
}

// base is what all environments of a zone share.
type base struct {
	cel       *cel.Env
	checker   *checker.Env
	functions map[string]*decls.FunctionDecl
	callable  []string // names for suggestions
}

var bases sync.Map // zone name → func() (*base, error)

func baseFor(zone *time.Location) (*base, error) {
	made, _ := bases.LoadOrStore(zone.String(), sync.OnceValues(func() (*base, error) { return newBase(zone) }))
	return made.(func() (*base, error))()
}

func newBase(zone *time.Location) (*base, error) {
	standard := cel.StdLib(cel.StdLibSubset(env.NewLibrarySubset().AddExcludedFunctions(env.NewFunction("duration"))))
	opts := append([]cel.EnvOption{
		standard, ext.Strings(ext.StringsVersion(4)), ext.Math(),
		cel.CrossTypeNumericComparisons(true), cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(maxSource), cel.ParserRecursionLimit(100),
	}, functions(zone)...)
	e, err := cel.NewCustomEnv(opts...)
	if err != nil {
		return nil, fmt.Errorf("making the rule environment: %w", err)
	}
	check, err := checker.NewEnv(containers.DefaultContainer, e.CELTypeProvider(), checker.CrossTypeNumericComparisons(true))
	if err != nil {
		return nil, fmt.Errorf("making the rule environment: %w", err)
	}
	b := &base{cel: e, checker: check, functions: e.Functions()}
	named := regexp.MustCompile(`^[a-z]\w*(\.\w+)*$`)
	for name, f := range b.functions {
		if err := check.AddFunctions(f); err != nil {
			return nil, fmt.Errorf("making the rule environment: %w", err)
		}
		if named.MatchString(name) {
			b.callable = append(b.callable, name)
		}
	}
	b.callable = append(b.callable, "has", "all", "exists", "exists_one", "filter", "map")
	slices.Sort(b.callable)
	return b, nil
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// NewEnv makes an environment. It refuses names that are no identifiers, or reserved words of CEL.
func NewEnv(c Config) (*Env, error) {
	zone := c.Zone
	if zone == nil {
		zone = time.UTC
	}
	b, err := baseFor(zone)
	if err != nil {
		return nil, err
	}
	e := &Env{base: b, names: maps.Clone(c.Names), sorted: slices.Sorted(maps.Keys(c.Names)), limit: c.CostLimit}
	if e.limit == 0 {
		e.limit = DefaultCostLimit
	}
	e.types = newProvider(b.cel.CELTypeProvider())
	e.checker, err = checker.NewEnv(containers.DefaultContainer, e.types,
		checker.CrossTypeNumericComparisons(true), checker.ValidatedDeclarations(b.checker))
	if err != nil {
		return nil, fmt.Errorf("making the rule environment: %w", err)
	}
	for _, name := range e.sorted {
		if !identifier.MatchString(name) {
			return nil, fmt.Errorf("the name %q cannot be used in rules: a name is letters, digits and _", name)
		}
		if slices.Contains(reserved, name) {
			return nil, fmt.Errorf("the name %q cannot be used in rules: CEL reserves the word", name)
		}
		if err := e.checker.AddIdents(decls.NewVariable(name, e.types.typed(c.Names[name], name))); err != nil {
			return nil, fmt.Errorf("declaring %s: %w", name, err)
		}
	}
	e.planner = sync.OnceValues(func() (*cel.Env, error) { return b.cel.Extend(cel.CustomTypeProvider(e.types)) })
	return e, nil
}

// Names are the variables in scope, sorted.
func (e *Env) Names() []string { return e.sorted }

// NameType is the type of a variable in scope.
func (e *Env) NameType(name string) (*schema.Type, bool) {
	t, ok := e.names[name]
	return t, ok
}
