package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
)

// R39: an exception is resolved in each of its six ways by the command line, over
// the state file of this machine and over a deployment's API, with the same words;
// a second answer is told whose the first was, and the decision is in the log.
func TestEveryWayToResolve(t *testing.T) {
	t.Parallel()
	b := setup(t)
	export, err := os.ReadFile(filepath.Join(b.dir, "exports/crm.csv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(export), "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "Stalled") })
	b.write("bad.csv", lines[0]+lines[at]) // no row of it can be used
	b.write("wrong.json", `{"read": "many", "file": 7}`)
	b.write("input.json", `{"file": "sha256:0000", "as_of": "2026-11-30", "stale_after": "14d", "eur": {}}`)
	b.write("output.json", `{"read": 0, "open": 0, "closed": 0, "rejected": [], "stale": [], "totals": {"as_of": "2026-11-30", "stale_after_days": 14, "read": 0, "open": 0, "closed": 0, "rejected": 0, "stale": 0, "open_eur": 0, "stale_eur": 0, "stages": []}}`)
	b.want(cli.ExitFailed, "run", "crm-followup", "--input", "bad.csv", "--as-of", "2026-11-30").has(t, "blocked")
	open := list(t, b.want(0, "exceptions", "-o", "json").out)
	if len(open) != 1 {
		t.Fatalf("exceptions: %v", open)
	}
	id, run := open[0]["id"].(string), open[0]["run"].(string)
	for way, c := range map[string]struct {
		more []string
		then string // how the run stands
	}{
		"retry": {nil, "blocked"}, "edit": {[]string{"--value", "input.json"}, "blocked"}, "skip": {nil, "blocked"},
		"substitute": {[]string{"--value", "output.json"}, "completed"}, "close": {nil, "failed"}, "rollback": {nil, "blocked"},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			here, there := twin(t, b), twin(t, b)
			here.t, there.t = t, t
			deploy(t, there)
			both := func(args ...string) answer {
				got := masked(here.at("", args...))
				same(t, strings.Join(args, " "), got, masked(there.at("aws", args...)))
				return got
			}
			resolve := append([]string{"resolve", id, way, "--by", "lead@acme.example", "--reason", "looked at it"}, c.more...)
			if c.more != nil {
				wrong := append(resolve[:len(resolve)-1:len(resolve)-1], "wrong.json")
				both(wrong...).has(t, "is required, but missing")
			}
			if way == "rollback" { // nothing of this loop can be undone
				both(resolve...).has(t, "none of its ways, which are retry, edit, skip, substitute, close", "not possible")
				return
			}
			both(resolve...).has(t, "recorded", c.then)
			both(resolve...).has(t, "already decided: "+way+" by lead@acme.example")
			for _, log := range []answer{here.at("", "log", run), there.at("aws", "log", run)} {
				log.has(t, "resolved  "+way, "lead@acme.example")
			}
			both("show", run, "-o", "json").has(t, `"status": "`+c.then+`"`)
			both("exceptions")
		})
	}
}
