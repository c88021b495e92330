// Package localstack_test deploys the project to an emulator of AWS, as it
// stands, and runs S1 there: `make stack-local`. What the emulator does unlike
// AWS is met here, in the set-up, and listed in README.md.
package localstack_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	loopName = "crm-followup"
	// nominal is the schedule's time that fires: 07:00 in Berlin, on a Monday.
	nominal = "2026-11-30T06:00:00Z"
	// exported is when the webhook says its file was made, a week earlier: another
	// run, and another week of mails.
	exported = "2026-11-23T09:30:00Z"
)

// S1 deployed: from its schedule, with approvals by the command line, it comes
// to what the embedded run comes to; a signed webhook starts one run, however
// often it comes; a worker that dies is answered by its step's rule (R11, R25,
// R37, R46, R62, R65, R69).
func TestStack(t *testing.T) {
	if os.Getenv("OUTERLOOP_STACK_TEST") == "" {
		t.Skip("deploys a stack to an emulator, which takes minutes: make stack-local")
	}
	p := copied(t)
	s := p.deployed()
	want := p.embedded()

	say("S1 from its schedule")
	s.fires()
	run := s.awaitRun("2026-11-30")
	s.decide(run)
	got := s.outcome(run)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("the deployed run differs from the embedded one:\n%s", diff)
	}
	note("%d steps with the same outcomes, the same dashboard (%v mails, %v declined) and the same %d mails as the embedded run", len(got.Steps), got.Dashboard["mails"], got.Dashboard["declined"], len(got.Mails))
	s.figures(run)
	s.uploads()

	say("S1 from a signed webhook, while its writer dies at every start")
	s.breaks("followup-writer")
	second := s.webhooks()
	s.ruleHolds(second)
}

// outcome is what a run came to.
type outcome struct {
	Dashboard    map[string]any
	Steps, Mails map[string]string
}

// shown is what `show -o json` says that matters here.
type shown struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Subject string `json:"subject"`
	Reason  string `json:"reason"`
	Steps   []struct {
		Path    string `json:"path"`
		Status  string `json:"status"`
		Worker  string `json:"worker"`
		Outcome string `json:"outcome"`
	} `json:"steps"`
}

func (v shown) steps() map[string]string {
	out := map[string]string{}
	for _, s := range v.Steps {
		out[s.Path] = strings.TrimSpace(s.Status + " " + s.Outcome + " by " + s.Worker)
	}
	return out
}

// counts is how many steps came to what.
func (v shown) counts() string {
	n := map[string]int{}
	for _, s := range v.Steps {
		n[strings.TrimSpace(s.Status+" "+s.Outcome)]++
	}
	var out []string
	for _, what := range slices.Sorted(maps.Keys(n)) {
		out = append(out, fmt.Sprintf("%s %d", what, n[what]))
	}
	return strings.Join(out, ", ")
}

// decide approves whatever the run asks, until it has ended. All of it goes
// through the command line.
func (c commands) decide(run string) {
	c.Helper()
	decided := 0
	c.until(30*time.Minute, "the run ends", func() bool {
		v := c.show(run)
		switch v.Status {
		case "completed":
			return true
		case "blocked", "failed", "cancelled":
			c.Fatalf("%s is %s: %s\n%s", run, v.Status, v.Reason, c.outerloop(0, "exceptions"))
		case "awaiting_approval":
		default:
			return false
		}
		var asked []struct{ ID, Run, Ask, Step string }
		c.decode(c.outerloop(0, "approvals", "-o", "json"), &asked)
		for _, a := range asked {
			if a.Run != run {
				continue
			}
			answer := c.outerloop(-1, "approve", a.ID, "--by", "lead@acme.example", "--reason", "checked")
			if decided++; decided == 1 && c.far {
				note("$ outerloop approvals --target aws\n%s", head(c.outerloop(0, "approvals"), 8))
				note("$ outerloop approve %s --by lead@acme.example --reason checked --target aws\n%s", a.ID, head(answer, 8))
			}
		}
		return false
	})
	if decided == 0 {
		c.Errorf("%s asked nobody", run)
	}
	note("%d approvals given", decided)
}

func (c commands) show(run string) shown {
	c.Helper()
	var v shown
	c.decode(c.outerloop(-1, "show", run, "--steps", "-o", "json"), &v)
	return v
}

func (c commands) decode(text string, into any) {
	c.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		c.Fatalf("%v in %s", err, text)
	}
}

// until looks every three seconds.
func (c commands) until(limit time.Duration, what string, done func() bool) {
	c.Helper()
	began, every := time.Now(), time.NewTicker(3*time.Second)
	defer every.Stop()
	for !done() {
		if time.Since(began) > limit {
			c.Fatalf("after %s still not: %s", limit, what)
		}
		select {
		case <-every.C:
		case <-c.Context().Done():
			c.Fatal("stopped")
		}
	}
	note("%s, after %s", what, time.Since(began).Round(time.Second))
}

// The transcript goes to the output as it comes.
func say(format string, args ...any)  { fmt.Printf("\n== "+format+"\n", args...) }
func note(format string, args ...any) { fmt.Printf("   "+indent(format)+"\n", args...) }

func indent(format string) string { return strings.ReplaceAll(format, "\n", "\n   ") }

func head(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > n {
		lines = append(lines[:n], "…")
	}
	return "   " + strings.Join(lines, "\n      ")
}
