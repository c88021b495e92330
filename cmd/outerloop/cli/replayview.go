package cli

import (
	"fmt"
)

// mostChanges is how many changed places of one output are printed.
const mostChanges = 6

// printReplay prints each step that would come to something else, and the sums.
func (a *app) printReplay(doc replayed) {
	a.say("%s of %s: %s done again, nothing was done with them", a.bold(doc.Worker), doc.Run, count(len(doc.Compared), "step", "steps"))
	if doc.Steps > len(doc.Compared)+len(doc.Lost) {
		a.say("  the run has %d; --limit %d asks about all", doc.Steps, doc.Steps)
	}
	for _, lost := range doc.Lost {
		a.say("  %s was left out: %s", plain(lost.Path), plain(lost.Reason))
	}
	for _, c := range doc.Compared {
		if c.same() {
			continue
		}
		a.say("\n%s", a.bold(plain(c.Path)))
		was := string(c.Before.Outcome)
		if !c.wasAccepted() {
			was += reasonText(c.Before.Reason)
		}
		now := a.green("accepted")
		if !c.After.Accepted {
			now = a.red("not accepted") + fmt.Sprintf(" (%s): %s", c.After.Class, plain(c.After.Cause))
		}
		a.say("  was  %s", was)
		a.say("  now  %s", now)
		for _, why := range c.After.Asks {
			a.say("       a person would be asked: %s", plain(why))
		}
		for i, change := range c.Changes {
			if i == mostChanges {
				a.say("  and %d more places; -o json has them all", len(c.Changes)-i)
				break
			}
			a.printChange(change)
		}
	}
	a.say("")
	t := table{head: []string{"", "ACCEPTED", "MODEL", "TOKENS IN", "OUT", "COST"}, right: []bool{false, true, false, true, true, true}}
	for _, side := range []struct {
		name string
		sum  replaySum
	}{{"recorded", doc.Before}, {"replayed", doc.After}} {
		t.add(side.name, fmt.Sprintf("%d of %d", side.sum.Accepted, len(doc.Compared)), plain(side.sum.Tokens.Model),
			fmt.Sprint(side.sum.Tokens.Input), fmt.Sprint(side.sum.Tokens.Output), fmt.Sprintf("%.6f", side.sum.Cost))
	}
	t.write(a, a.Out)
	a.say("%d of %s the same", doc.Same, count(len(doc.Compared), "output is", "outputs are"))
}
