package asl_test

import (
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/asl"
)

// generator makes machines out of random bytes.
type generator struct {
	bytes []byte
	names int
}

func (g *generator) next(n int) int {
	if len(g.bytes) == 0 {
		return 0
	}
	b := g.bytes[0]
	g.bytes = g.bytes[1:]
	return int(b) % n
}

func (g *generator) chance(n int) bool { return g.next(n) == n-1 }

func pick[T any](g *generator, of ...T) T { return of[g.next(len(of))] }

func (g *generator) name() string {
	g.names++
	return fmt.Sprintf("S%d", g.names)
}

func (g *generator) path() string {
	return pick(g, "$", "$.a", "$.items", "$.items[1:]", "$.items[?(@ > 1)]", "$.missing", "$..a", "$$.State.Name", "$$.Execution.Input", "$.items[0]", "$.s")
}

// machine returns a definition in which every state can be reached.
func (g *generator) machine() asl.Object {
	d := g.block(0)
	return d.AddIf(g.chance(4), "TimeoutSeconds", 30)
}

func (g *generator) block(depth int) asl.Object {
	names := make([]string, 1+g.next(4))
	for i := range names {
		names[i] = g.name()
	}
	states := asl.Object{}
	for i, name := range names {
		next, targets := "", names[i:]
		if i+1 < len(names) {
			next, targets = names[i+1], names[i+1:]
		}
		if g.chance(20) {
			targets = names // a way back
		}
		states = states.Add(name, g.state(next, targets, depth))
	}
	return asl.Object{}.Add("StartAt", names[0]).Add("States", states)
}

func (g *generator) state(next string, names []string, depth int) asl.Object {
	kinds := []string{"Pass", "Task", "Wait", "Task", "Choice", "Parallel", "Map", "DistributedMap"}
	if depth > 1 {
		kinds = kinds[:5]
	}
	kind := pick(g, kinds...)
	if next == "" && kind == "Choice" || next == "" && g.chance(6) {
		return pick(g, asl.Object{}.Add("Type", "Succeed").AddIf(g.chance(2), "OutputPath", g.path()),
			asl.Object{}.Add("Type", "Fail").Add("Error", "E1").AddIf(g.chance(2), "CausePath", g.path()))
	}
	s := asl.Object{}.Add("Type", kind)
	switch kind {
	case "DistributedMap":
		s = asl.Object{}.Add("Type", "Map").AddIf(g.chance(3), "ToleratedFailureCount", 1)
		s = g.mapping(s, depth, asl.Object{}.Add("Mode", "DISTRIBUTED").Add("ExecutionType", "STANDARD"))
	case "Map":
		s = g.mapping(s, depth, asl.Object{}.Add("Mode", "INLINE"))
	case "Parallel":
		branches := asl.List{}
		for range 1 + g.next(3) {
			branches = append(branches, g.block(depth+1))
		}
		s = s.Add("Branches", branches)
	case "Choice":
		return g.choice(s, next, names)
	case "Wait":
		s = s.AddIf(true, pick(g, "Seconds", "Seconds"), g.next(9))
	case "Task":
		s = g.task(s)
	}
	return g.flow(g.data(s, kind), kind, next)
}

func (g *generator) task(s asl.Object) asl.Object {
	s = s.Add("Resource", pick(g, "arn:aws:states:::lambda:invoke", "arn:aws:lambda:us-east-1:1:function:f",
		"arn:aws:states:::sqs:sendMessage.waitForTaskToken", "arn:aws:states:us-east-1:1:activity:a", "arn:aws:states:::states:startExecution.sync:2"))
	s = s.AddIf(g.chance(3), "TimeoutSeconds", 20)
	return s.AddIf(g.chance(3), "HeartbeatSeconds", 5)
}

func (g *generator) mapping(s asl.Object, depth int, config asl.Object) asl.Object {
	s = s.AddIf(!g.chance(5), "ItemsPath", pick(g, "$.items", "$$.Execution.Input.items", "$.missing", "$.s"))
	s = s.AddIf(g.chance(2), "MaxConcurrency", g.next(3))
	s = s.AddIf(g.chance(3), "ItemSelector", asl.Object{}.Add("items.$", "$$.Map.Item.Value").Add("a.$", g.path()))
	inner := append(asl.Object{}.Add("ProcessorConfig", config), g.block(depth+1)...)
	return s.Add("ItemProcessor", inner)
}

func (g *generator) choice(s asl.Object, next string, names []string) asl.Object {
	test := pick(g, asl.Object{}.Add("Variable", "$.a").Add("IsPresent", true),
		asl.Object{}.Add("Variable", "$.s").Add("StringMatches", "a*"),
		asl.Object{}.Add("Variable", g.path()).Add("NumericGreaterThan", 1),
		asl.Object{}.Add("Not", asl.Object{}.Add("Variable", g.path()).Add("IsString", true)))
	return s.Add("Choices", asl.List{test.Add("Next", pick(g, names...))}).Add("Default", next)
}

// data adds fields of the data flow.
func (g *generator) data(s asl.Object, kind string) asl.Object {
	s = s.AddIf(g.chance(5), "InputPath", g.path())
	s = s.AddIf(g.chance(5), "OutputPath", g.path())
	if kind == "Wait" {
		return s
	}
	if kind != "Map" && kind != "DistributedMap" {
		s = s.AddIf(g.chance(3), "Parameters", asl.Object{}.Add("items", asl.List{1, 2, 3}).Add("a.$", g.path()).
			Add("u.$", "States.Format('{}',States.UUID())"))
	}
	if kind != "Pass" {
		s = s.AddIf(g.chance(4), "ResultSelector", asl.Object{}.Add("a.$", g.path()))
	}
	switch g.next(5) {
	case 0:
		s = s.Add("ResultPath", "$.a")
	case 1:
		s = s.Add("ResultPath", nil)
	case 2:
		s = s.Add("ResultPath", "$.b.c")
	}
	return s
}

// flow adds what follows a state.
func (g *generator) flow(s asl.Object, kind, next string) asl.Object {
	switch kind {
	case "Task", "Parallel", "Map", "DistributedMap":
		if g.chance(2) {
			s = s.Add("Retry", asl.List{asl.Object{}.Add("ErrorEquals", asl.List{pick(g, "E1", "States.TaskFailed", "States.Timeout")}).
				Add("MaxAttempts", g.next(3)).Add("JitterStrategy", "FULL")})
		}
		// Forward only: a state that cannot succeed and catches itself costs 25,000
		// events in one step, which the fuzzer takes for a hang.
		if g.chance(2) && next != "" {
			s = s.Add("Catch", asl.List{asl.Object{}.Add("ErrorEquals", asl.List{pick(g, "States.ALL", "E2")}).
				Add("Next", next).AddIf(g.chance(2), "ResultPath", "$.error")})
		}
	}
	if next == "" {
		return s.Add("End", true)
	}
	return s.Add("Next", next)
}
