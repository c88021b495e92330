package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generatedLoops is how many loops are made up.
const generatedLoops = 16

// generate makes up a loop: a few steps of any worker, with any input, rule,
// approval and order that the language allows.
func generate(name string, seed uint64) string {
	g := &generator{random: rand.New(rand.NewPCG(seed, 3))}
	out := head(name, "otherwise: ask", g.one("otherwise: ask", "otherwise: halt", "reviews: 4, otherwise: ask"), "deadline: 23h", g.one("deadline: 23h", "deadline: 23h", "deadline: 5h")) + "steps:\n"
	for i := range 2 + g.random.IntN(4) {
		out += g.step(fmt.Sprintf("s%d", i), "  ", true)
	}
	return out
}

type generator struct {
	random *rand.Rand
	// texts are steps whose output has a text, all are all steps of the top level.
	texts, all []string
}

func (g *generator) one(list ...string) string { return list[g.random.IntN(len(list))] }

func (g *generator) chance(oneIn int) bool { return g.random.IntN(oneIn) == 0 }

// step writes one step; blocks only at the top.
func (g *generator) step(name, indent string, top bool) string {
	if top && g.chance(5) {
		return g.branches(name)
	}
	worker := g.one("writer", "writer", "shaky", "backup", "poet", "sender", "ledger", "caller", "board", "rooms")
	lines := []string{"worker: " + worker}
	input := "text: \"${input.key}\""
	if len(g.texts) > 0 && g.chance(2) {
		from := g.one(g.texts...)
		input = "text: \"${" + g.one(from+".text", "default("+from+".text, 'none')") + "}\""
	} else if len(g.all) > 0 && g.chance(2) {
		lines = append(lines, "after: ["+g.one(g.all...)+"]")
	}
	lines = append(lines, "input: {"+input+"}")
	switch worker {
	case "sender":
		lines = append(lines, "action: send", "key: \"${input.key}/"+name+"\"")
	case "ledger":
		lines = append(lines, "action: book", "key: \"${input.key}/"+name+"\"")
	case "caller":
		lines = append(lines, "action: call", "key: \"${input.key}/"+name+"\"")
	case "rooms":
		lines = append(lines, "action: open", "key: \"${input.key}/"+name+"\"")
	}
	isAction := strings.HasPrefix(lines[len(lines)-1], "key")
	if isAction && g.chance(2) {
		lines = append(lines, "resource: "+g.one("contact/a", "contact/b"))
	}
	rejected := g.one("skip", "halt", "revise")
	if isAction && rejected == "revise" {
		rejected = "halt"
	}
	if g.chance(3) {
		lines = append(lines, fmt.Sprintf("approval: {when: %q, ask: \"%s?\", expired: %s, rejected: %s}",
			g.one("true", "default(input.ask, false)"), name, g.one("skip", "halt"), rejected))
	} else if !isAction && worker != "board" && g.chance(4) {
		lines = append(lines, "review: {worker: checker, input: {text: \"${output.text}\"}, pass: verdict.faults.size() == 0, revisions: 1, otherwise: "+g.one("approve", "refuse", "escalate")+"}")
	}
	lines = append(lines, g.failure(worker))
	if top {
		g.all = append(g.all, name)
		if worker != "board" && !isAction {
			g.texts = append(g.texts, name)
		}
	}
	return indent + name + ":\n" + indent + "  " + strings.Join(lines, "\n"+indent+"  ") + "\n"
}

func (g *generator) failure(worker string) string {
	then := g.one("skip", "halt", "ask")
	if (worker == "writer" || worker == "poet") && g.chance(3) {
		then = "{substitute: {text: instead}}"
	}
	return fmt.Sprintf("on_failure: {retry: {transient: %d, timeout: %d}, then: %s}", g.random.IntN(3), g.random.IntN(3), then)
}

// branches writes a block of branches.
func (g *generator) branches(name string) string {
	out := "  " + name + ":\n"
	if len(g.all) > 0 {
		out += "    after: [" + g.one(g.all...) + "]\n"
	}
	out += "    branches:\n"
	for i := range 2 + g.random.IntN(2) {
		out += g.step(fmt.Sprintf("%sb%d", name, i), "      ", false)
	}
	g.all = append(g.all, name)
	enough := ""
	if g.chance(3) {
		enough = "enough: 1, "
	}
	return out + "    join: {need: 1, " + enough + "otherwise: " + g.one("halt", "ask", "skip") + "}\n"
}
