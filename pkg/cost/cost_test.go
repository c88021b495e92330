package cost

import (
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/asl/rehearse"
	"github.com/outerloop-dev/outerloop/pkg/compile"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/project"
)

var update = flag.Bool("update", false, "write the golden estimates anew")

var newYear = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)

// files are the declarations of the project at root, changed by replacing texts.
func files(t testing.TB, root string, changes ...string) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	for _, part := range []string{project.File, project.LoopDir, project.WorkerDir, "schemas"} {
		err := filepath.WalkDir(filepath.Join(root, part), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // not every project has every part
			}
			if err != nil || d.IsDir() || strings.HasSuffix(path, ".go") {
				return err
			}
			if strings.HasSuffix(path, project.LoopSuffix) && root == "../.." && d.Name() != "crm-followup"+project.LoopSuffix {
				return nil // the other samples cost time and say nothing here
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			name, _ := filepath.Rel(root, path)
			changed := strings.NewReplacer(changes...).Replace(string(text))
			out[filepath.ToSlash(name)] = &fstest.MapFile{Data: []byte(changed)}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// open checks a project and finds one of its loops.
func open(t testing.TB, fsys fs.FS, name string) (*project.Project, *loop.Definition) {
	t.Helper()
	p, problems := project.Load(fsys)
	d, ok := p.Loop(name)
	if !ok {
		t.Fatalf("%s: %v", name, problems)
	}
	return p, d
}

func estimate(t testing.TB, q Question) *Estimate {
	t.Helper()
	if q.From.IsZero() {
		q.From = newYear
	}
	e, err := Of(q)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func golden(t *testing.T, name string, got any) {
	t.Helper()
	text, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("%s has changed (-want +got):\n%s", name, diff)
	}
}

// R61: the estimates and the advice on the samples are what was looked at last.
func TestSamples(t *testing.T) {
	t.Parallel()
	for _, one := range []struct{ root, loop string }{{"../..", "crm-followup"}, {"../project/testdata/base", "forms"}, {"../project/testdata/base", "good"}} {
		p, d := open(t, files(t, one.root), one.loop)
		e := estimate(t, Question{Loop: d, Loops: p.Loops})
		golden(t, one.loop+".cost.json", e)
		golden(t, one.loop+".advice.json", Advise(d, nil, e.Runs))
	}
}

// The transitions of an estimate are the states that an interpreter enters.
func TestTransitionsAreStatesEntered(t *testing.T) {
	t.Parallel()
	const items = 7
	_, d := open(t, files(t, "../..", "max_items: 50000", "max_items: 20"), "crm-followup")
	machine, err := compile.Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	m, err := asl.Load(machine)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]int, items)
	for i := range list {
		list[i] = i
	}
	note := map[string]any{"outcome": "completed", "label": "1", "until": nil, "items": list}
	answer := map[string]any{"Payload": note}
	for name, value := range note {
		answer[name] = value
	}
	text, _ := json.Marshal(answer)
	mocks := rehearse.Mocks{}
	for _, step := range []string{"scan", "follow_up/qualify", "follow_up/draft", "follow_up/draft.review", "follow_up/send", "dashboard", "finish"} {
		for range items {
			mocks[step] = append(mocks[step], rehearse.Answer{Result: text})
		}
	}
	played, err := rehearse.Run(m, []byte(`{"run":"r","gen":1,"item":"","o":null}`), mocks)
	if err != nil || played.Status != asl.Succeeded {
		last := played.History[max(0, len(played.History)-3):]
		text, _ := json.Marshal(last)
		t.Fatalf("the rehearsal ended %s (%v): %s", played.Status, err, text)
	}
	entered := 0
	for _, event := range played.Events {
		if strings.HasSuffix(string(event), "StateEntered") {
			entered++
		}
	}
	e := estimate(t, Question{Loop: d, Each: items})
	if e.Counts.Transitions != float64(entered) {
		t.Errorf("the estimate counts %v transitions, the interpreter enters %d states", e.Counts.Transitions, entered)
	}
}

// A distributed Map pays for its pages, whatever the number of items.
func TestPages(t *testing.T) {
	t.Parallel()
	_, d := open(t, files(t, "../.."), "crm-followup")
	pages := struct{ outer, inner float64 }{989, 23}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40000).Draw(t, "items")
		e, err := Of(Question{Loop: d, Items: map[string]int{"follow_up": n}, From: newYear})
		if err != nil {
			t.Fatal(err)
		}
		least := 4 + 4*float64(n) + math.Ceil(float64(n)/pages.outer) + math.Ceil(float64(n)/pages.inner)
		most := least + math.Ceil(float64(n)/pages.outer) // an uneven last page
		if got := e.Counts.Transitions; got < least-0.5 || got > most+0.5 {
			t.Fatalf("%d items enter %v states, expected %v to %v", n, got, least, most)
		}
	})
}

// Splits add up, nothing is negative, and more items or runs never cost less.
func TestEstimatesAddUp(t *testing.T) {
	t.Parallel()
	p, d := open(t, files(t, "../project/testdata/base"), "forms")
	rapid.Check(t, func(t *rapid.T) {
		each, runs := rapid.IntRange(1, 1000).Draw(t, "each"), rapid.Float64Range(1, 1e6).Draw(t, "runs")
		e, err := Of(Question{Loop: d, Loops: p.Loops, Each: each, Runs: runs, From: newYear})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []Split{e.Run, e.Month} {
			parts := []float64{s.Transitions, s.Lambda, s.DynamoDB, s.SQS, s.Tokens, s.Other, s.Fixed}
			sum := 0.0
			for _, part := range parts {
				if part < 0 {
					t.Fatalf("%+v has a part below zero", s)
				}
				sum += part
			}
			if math.Abs(sum-s.Total) > 1e-6*max(1, sum) {
				t.Fatalf("%+v does not add up to %v", s, sum)
			}
		}
		more, _ := Of(Question{Loop: d, Loops: p.Loops, Each: each + 1, Runs: runs + 1, From: newYear})
		if more.Run.Total < e.Run.Total || more.Month.Total < e.Month.Total {
			t.Fatalf("more work costs less: %v after %v", more.Month, e.Month)
		}
	})
}

// R61: fires are counted in the loop's year, and a longer interval saves what
// the runs it leaves out cost.
func TestIntervals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		schedule, instead string
		runs              float64
	}{
		{"cron(0 7 ? * MON-FRI *)", "once a week", 261.0 / 12},
		{"rate(30 minutes)", "every hour", 1460},
		{"rate(1 minute)", "every 5 minutes", 43800},
		{"cron(0 0 1 * ? *)", "", 1},
	} {
		because := c.schedule
		if strings.Contains(because, "1 minute") {
			because += "\n    because: a test"
		}
		_, d := open(t, files(t, "../..", "cron(0 7 ? * MON-FRI *)", because, "subject: ${day(run.as_of)}", "subject: ${run.as_of}", "overlap: skip", "overlap: allow"), "crm-followup")
		e := estimate(t, Question{Loop: d})
		if math.Abs(e.Runs-c.runs) > 0.02*c.runs {
			t.Errorf("%s: %v runs a month, want %v", c.schedule, e.Runs, c.runs)
		}
		if c.instead == "" {
			if len(e.Savings) > 0 {
				t.Errorf("%s: %+v", c.schedule, e.Savings)
			}
			continue
		}
		if len(e.Savings) != 1 || e.Savings[0].Instead != c.instead {
			t.Errorf("%s: %+v, want %s", c.schedule, e.Savings, c.instead)
			continue
		}
		saved := (e.Runs - e.Savings[0].Runs) * e.Run.Total
		if got := e.Savings[0].USD; math.Abs(got-saved) > 0.01*saved {
			t.Errorf("%s: saves %v, want %v", c.schedule, got, saved)
		}
	}
}

// A price list without a price, or with one that cannot be, is refused.
func TestPriceListIsChecked(t *testing.T) {
	t.Parallel()
	text := string(pricesFile)
	for _, c := range [][2]string{{`"transition":`, `"transitions":`}, {`"per": 1000000`, `"per": 0`}, {`"worker_gb": 0.25`, `"worker_gb": -1`}, {`"as_of": "2026-11-01"`, `"as_of": ""`}, {`{`, `[`}} {
		broken := strings.Replace(text, c[0], c[1], 1)
		if broken == text {
			t.Fatalf("%s is not in the price list", c[0])
		}
		if _, err := ReadPrices([]byte(broken)); err == nil {
			t.Errorf("%s is accepted", c[1])
		}
	}
}
