package rule_test

import (
	"context"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/rule"
	"github.com/outerloop-dev/outerloop/pkg/schema"
)

const benchRule = `scan.read == scan.open + scan.closed + scan.rejected.size()`

func BenchmarkNewEnv(b *testing.B) {
	names := map[string]*schema.Type{"scan": typed(b, scan), "qualify": typed(b, qualify), "run": rule.RunType(), "about": rule.AboutType("scan", "qualify")}
	for b.Loop() {
		if _, err := rule.NewEnv(rule.Config{Names: names, Zone: time.UTC}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	e := environment(b)
	for b.Loop() {
		if _, faults := e.Compile(benchRule); faults != nil {
			b.Fatal(faults)
		}
	}
}

func BenchmarkCompileAndPlan(b *testing.B) {
	e, vars := environment(b), data(b)
	for b.Loop() {
		p, _ := e.Compile(benchRule)
		if _, err := p.EvalBool(context.Background(), vars); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEvalBool(b *testing.B) {
	for name, source := range map[string]string{"sum": benchRule, "compare": `qualify.result == "qualified"`} {
		b.Run(name, func(b *testing.B) {
			e, vars := environment(b), data(b)
			p, faults := e.CompileBool(source)
			if faults != nil {
				b.Fatal(faults)
			}
			for b.Loop() {
				if _, err := p.EvalBool(context.Background(), vars); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecide(b *testing.B) {
	e, vars := environment(b), data(b)
	p, _ := e.CompileBool(benchRule)
	for b.Loop() {
		if _, err := p.Decide(context.Background(), vars); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCostLimit is how long a rule can run at most.
func BenchmarkCostLimit(b *testing.B) {
	e, vars := environment(b), data(b)
	vars["any"] = make([]any, 2000)
	p, _ := e.Compile(`any.all(a, any.all(b, a == b))`)
	for b.Loop() {
		if _, err := p.Eval(context.Background(), vars); err == nil {
			b.Fatal("it was not stopped")
		}
	}
}
