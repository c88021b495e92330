package loop

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/rule"
	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// envCache keeps the environments of one check by their names and types.
type envCache map[string]*rule.Env

func (c *checker) env(names map[string]*schema.Type) (*rule.Env, error) {
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&key, "%s=%p;", name, names[name])
	}
	if e, known := c.envs[key.String()]; known {
		return e, nil
	}
	e, err := rule.NewEnv(rule.Config{Names: names, Zone: c.zone})
	if err == nil {
		c.envs[key.String()] = e
	}
	return e, err
}

// extras are the names that are known at a point of a step's life only.
type extras map[string]*schema.Type

// afterWork are the names known after a step's work.
func afterWork(output *schema.Type) extras {
	return extras{"output": output, "confidence": rule.ConfidenceType(), "evidence": rule.EvidenceType(), "unresolved": rule.UnresolvedType()}
}

// with adds a name.
func (e extras) with(name string, t *schema.Type) extras {
	out := maps.Clone(e)
	if out == nil {
		out = extras{}
	}
	out[name] = t
	return out
}

// rule compiles a rule that is true or false; nil when it was left out or is wrong.
func (c *checker) rule(p place, e source.Expr, more extras) *Rule {
	return c.program(p, e, more, (*rule.Env).CompileBool)
}

// expr compiles an expression of any type.
func (c *checker) expr(p place, e source.Expr, more extras) *Rule {
	return c.program(p, e, more, (*rule.Env).Compile)
}

func (c *checker) program(p place, e source.Expr, more extras, compile func(*rule.Env, string) (*rule.Program, rule.Faults)) *Rule {
	if !e.Set() {
		return nil
	}
	env, uses, ok := c.bind(p, expressionOf(e), more)
	if !ok {
		return nil
	}
	program, faults := compile(env, e.Text)
	if len(faults) > 0 {
		c.ruleFaults(p, e.Node, faults)
		return nil
	}
	return &Rule{Program: program, Uses: uses}
}

// tree compiles a value; nil when it was left out or is wrong.
func (c *checker) tree(p place, v source.Value, more extras) *Tree {
	if !v.Set() {
		return nil
	}
	env, uses, ok := c.bind(p, expressionsIn(v), more)
	if !ok {
		return nil
	}
	value, faults := env.CompileValue(v.Node.Plain())
	if len(faults) > 0 {
		c.ruleFaults(p, v.Node, faults)
		return nil
	}
	return &Tree{Value: value, Uses: uses}
}

// phrase compiles a text; nil when it was left out or is wrong.
func (c *checker) phrase(p place, v source.Value, more extras) *Phrase {
	if !v.Set() {
		return nil
	}
	env, uses, ok := c.bind(p, expressionsIn(v), more)
	if !ok {
		return nil
	}
	text, faults := env.CompileText(v.Node.Text)
	if len(faults) > 0 {
		c.ruleFaults(p, v.Node, faults)
		return nil
	}
	return &Phrase{Text: text, Uses: uses}
}
