package sim

import (
	"fmt"
	"strings"
)

// Finding is what taking a precondition away led to.
type Finding struct {
	Precondition string
	Seed         uint64
	Invariant    string
}

// NotTaken are the switches of the protocol's model that the simulation does not
// take away, with the reason.
var NotTaken = []struct{ Name, Why string }{
	{"ParkFromOpen, ParkHash", "an attempt is made only of what `admit` resolved: an undecided request answers before, an approved one is itself the input; *AdmitParked* and *BeginApproved* stand behind"},
	{"RuleAbsent, RuleReadsStore", "what a rule does with a step that nobody admitted or that is settled is its only way on; *RuleNotSettled* shows the other side"},
	{"SettleRun and SettleGen by a read before the write", "the coordinator has only the form in one transaction; *SettleTxn* is the other form"},
	{"ClaimAct, EditAct", "the row that they speak of was dropped from the protocol"},
	{"FailedToDone", "its case needs an effect after the action's time limit, which assumption (a) excludes; *CallBounded* is that assumption"},
	{"DLQ", "a dead-lettered message is a state that times out; the window *dead-lettered before admit* is hit by every range of seeds"},
	{"Money 1 and 2", "the drafts of the protocol before claim and reservation were one transaction; *ReserveInClaim* is its third form"},
}

// Page is the page of the documentation about the simulation; found is what the
// seeds of the last `make sim` have shown.
func Page(found []Finding) string {
	var b strings.Builder
	b.WriteString(pageHead)
	b.WriteString("\n## Windows\n\n| Window | How |\n|---|---|\n")
	for _, w := range Windows {
		fmt.Fprintf(&b, "| %s | %s |\n", w.Name, w.How)
	}
	b.WriteString("\nBesides, at any call: ")
	var plain []string
	for _, f := range anywhere {
		plain = append(plain, string(f))
	}
	b.WriteString(strings.Join(plain, "; ") + ".\n")
	b.WriteString("\n## What is demanded after every write and every call\n\n| | |\n|---|---|\n")
	for _, i := range Invariants {
		fmt.Fprintf(&b, "| %s | %s |\n", i.Name, i.Says)
	}
	b.WriteString(pageSees)
	by := map[string]Finding{}
	for _, f := range found {
		by[f.Precondition] = f
	}
	b.WriteString("| Precondition | Says | Seed | Seen by |\n|---|---|---|---|\n")
	for _, p := range Preconditions {
		seed, seen := "–", "redundant: "+p.Redundant
		if f, ok := by[p.Name]; ok {
			seed, seen = fmt.Sprint(f.Seed), f.Invariant
		} else if p.Redundant == "" {
			seen = "?"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", p.Name, p.Says, seed, seen)
	}
	b.WriteString("\nNot taken away:\n\n")
	for _, n := range NotTaken {
		fmt.Fprintf(&b, "- %s: %s.\n", n.Name, n.Why)
	}
	return b.String()
}

const pageHead = `# Simulation

<!-- written by: go test ./internal/sim -run TestItSees -sees -update -->

` + "`internal/sim`" + ` runs the real coordinator, the compiled machines and the stores in a world of its own: three processes with clocks up to 4 s
apart, workers, queues with dead letters, people, the watch, and a provider that remembers what was done. Every actor parks at each call of
the store, the engine, the queue and the gate; a seed says who goes on, how long each call takes and which faults fall. The same seed gives
the same trace, byte for byte (` + "`TestReplay`" + `).

    make sim                                                     10,000 seeds, and every precondition taken away in turn
    go test ./internal/sim -run TestSeeds -seeds 1000000 -from 0 -timeout 0    a range of seeds; ranges may run side by side
    go test ./internal/sim -run 'TestSeed$' -seed 4711            one seed, everything that happens in it
    go test ./internal/sim -run 'TestSeed$' -seed 7 -scenario rooms -store dynamo

A seed that fails is printed with as few faults as still show it, and the last lines of its trace: time, actor, process, operation, call,
items and outcome, faults between.

The loops: sequential work, an ` + "`each`" + ` with reviews and actions, branches and a switch, actions with the rules verify, retry and ask on one
resource, requests with edits, expiry, two people and revision, sub-loops, events and waits, every overlap policy, budgets of a run, a day
and a month, rates, breakers with backups, facts with conflicts, deadlines, rollbacks, and ` + "16 loops made up at random" + `.
The same seeds run over SQLite and over DynamoDB's fake with faults of its own (` + "`TestEveryStore`" + `).
`

const pageSees = `
## Does it see?

Each precondition of the protocol is taken away in turn: a reader is shown what it would see without it, or a write goes out without it.
Then some seed must break a promise; where another precondition stands in, none may.

`
