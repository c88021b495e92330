package agent_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

func prompt(t testing.TB, text string) *agent.Prompt {
	t.Helper()
	p, err := agent.ParsePrompt(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func render(t testing.TB, text string, brief agent.Brief) agent.Rendered {
	t.Helper()
	out, err := prompt(t, text).Render(mailForm(t), brief)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var twoFields = agent.Brief{Worker: "writer", Input: json.RawMessage(`{"deal": {"name": "Acme", "note": "call me"}, "history": "a long story"}`),
	Facts: map[string]json.RawMessage{"prices": json.RawMessage(`{"list": 1}`)}}

// R20: only what the prompt names is sent, and what was left out is counted.
func TestRenderSendsOnlyWhatIsNamed(t *testing.T) {
	t.Parallel()
	out := render(t, "Write to ${input.deal.name} at ${ facts.prices }, yes ${input.deal.name}.", twoFields)
	if !strings.Contains(out.System, "Write to [input.deal.name] at [facts.prices], yes [input.deal.name].") {
		t.Errorf("the instructions read:\n%s", out.System)
	}
	for _, absent := range []string{"Acme", "long story", "call me"} {
		if strings.Contains(out.System, absent) || absent != "Acme" && strings.Contains(out.User, absent) {
			t.Errorf("%q was sent", absent)
		}
	}
	if want := []string{"input.deal.name", "facts.prices"}; !slices.Equal(out.Sources, want) {
		t.Errorf("sources %v, want %v", out.Sources, want)
	}
	pruned := len(`{"name":"Acme","note":"call me"}`) + len(`"a long story"`) - len(`"Acme"`)
	if out.Pruned != (agent.Size{Bytes: pruned, Tokens: (pruned + 2) / 3}) || out.Sent.Bytes != len(out.System)+len(out.User) {
		t.Errorf("sent %+v, pruned %+v, want %d bytes", out.Sent, out.Pruned, pruned)
	}
	all := render(t, "Write.", twoFields)
	if want := []string{"input.deal", "input.history", "facts.prices"}; !slices.Equal(all.Sources, want) || all.Pruned.Bytes != 0 {
		t.Errorf("a prompt without names: sources %v, pruned %+v", all.Sources, all.Pruned)
	}
}

// R56: the same task gives the same bytes; another text is another version; the
// instructions do not depend on the data, so that they can be cached.
func TestRenderIsDeterministicAndVersioned(t *testing.T) {
	t.Parallel()
	first, again := render(t, "Write.", twoFields), render(t, "Write.", twoFields)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Error(diff)
	}
	other := twoFields
	other.Input = json.RawMessage(`{"deal": 2}`)
	changed := render(t, "Write.", other)
	if changed.System != first.System || changed.Version != first.Version || changed.User == first.User {
		t.Error("instructions change with the data, or data does not change")
	}
	if render(t, "Write!", twoFields).Version == first.Version {
		t.Error("another text has the same version")
	}
}

func TestRenderGivesFeedbackAndRules(t *testing.T) {
	t.Parallel()
	brief := twoFields
	brief.Objective, brief.Rules, brief.Evidence = "A short mail.", []string{"input.amount <= 200\n(otherwise approve)"}, true
	brief.Feedback = []gate.Feedback{{From: "claim-checker", Faults: []string{"The number 7 is unsupported."}, Detail: json.RawMessage(`{"unsupported": ["7"]}`)}}
	out := render(t, "Write.", brief)
	for _, want := range []string{"A short mail.", "- input.amount <= 200 (otherwise approve)", "# Feedback", `under "evidence"`} {
		if !strings.Contains(out.System, want) {
			t.Errorf("the instructions lack %q", want)
		}
	}
	if strings.Contains(out.System, "unsupported.") || !strings.Contains(out.User, "=== data feedback ") || !strings.Contains(out.User, "The number 7 is unsupported.") {
		t.Error("the feedback does not stand among the data")
	}
}

func TestRenderRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		brief agent.Brief
		says  string
	}{
		"an absent field": {"Write to ${input.deal.mail}.", twoFields, "needs input.deal.mail"},
		"an absent fact":  {"See ${facts.rates}.", twoFields, "needs facts.rates"},
		"too large":       {"Write.", agent.Brief{Input: json.RawMessage(`"` + strings.Repeat("x", 500_000) + `"`)}, "400000 are allowed"},
		"own bound":       {"Write.", agent.Brief{Input: json.RawMessage(`"xxxxx"`), Limit: 100}, "100 are allowed"},
		"no JSON":         {"Write.", agent.Brief{Input: json.RawMessage(`{"a":1,"a":2}`)}, "appears twice"},
	} {
		_, err := prompt(t, c.text).Render(mailForm(t), c.brief)
		if err == nil || worker.FailureOf(err).Class != outerloop.ClassMissingInput || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParsePromptNamesTheLine(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		" \n":                       "empty",
		"a\nb ${input.x":            "line 2: ${ has no }",
		"a\n\n${env.SECRET}":        "line 3: ${env.SECRET} is not data",
		"${input.x + 1}":            "line 1",
		"${facts}":                  "line 1",
		"${input." + "x-y" + "}":    "line 1",
		"${steps.draft.text} words": "line 1",
	} {
		if _, err := agent.ParsePrompt(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFilesStandInPlaceOfTheirProperty(t *testing.T) {
	t.Parallel()
	out := render(t, "Read ${input.file}.", agent.Brief{Input: json.RawMessage(`{"file": "sha256:abc"}`), Texts: map[string]string{"file": "id,name\n1,Acme\n"}})
	if !strings.Contains(out.User, `"id,name\n1,Acme\n"`) || strings.Contains(out.User, "sha256:abc") {
		t.Errorf("the data reads:\n%s", out.User)
	}
}

var delimiter = regexp.MustCompile(`(?m)^=== (data|end) .*===$`)

// Prompt injection: whatever stands in the data, the only lines that look like
// delimiters are the renderer's own, the code appears nowhere else, no control
// token of a model survives, and the instructions are the same as without it.
func TestHostileDataStaysData(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/hostile/*.txt")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d hostile inputs, %v", len(files), err)
	}
	harmless := render(t, "Write about ${input.note}.", agent.Brief{Worker: "w", Input: json.RawMessage(`{"note": "hello"}`)})
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			hold(t, harmless, string(text))
		})
	}
}

func hold(t *testing.T, harmless agent.Rendered, text string) {
	t.Helper()
	raw, err := json.Marshal(map[string]string{"note": text})
	if err != nil {
		t.Fatal(err)
	}
	out := render(t, "Write about ${input.note}.", agent.Brief{Worker: "w", Input: raw})
	if out.System != harmless.System {
		t.Error("data changed the instructions")
	}
	lines := delimiter.FindAllString(out.User, -1)
	if len(lines) != 2 {
		t.Errorf("delimiters %q", lines)
	}
	code := regexp.MustCompile(`Its code is ([0-9a-f]{16})\.`).FindStringSubmatch(out.User)
	if code == nil || strings.Count(out.User, code[1]) != 3 {
		t.Fatalf("the code %v does not appear three times", code)
	}
	data := strings.Split(out.User, "\n")
	var back string
	if len(data) != 6 || json.Unmarshal([]byte(data[3]), &back) != nil {
		t.Fatalf("the data has %d lines:\n%s", len(data), out.User)
	}
	if want := string([]rune(text)); back != want {
		t.Errorf("the data was changed:\n%q\n%q", want, back)
	}
	for _, token := range []string{"<|", "|>", "</s>", "<s>", "\u202e", "\u200b", "\U000E0041", "\u2028", "\x1b"} {
		if strings.Contains(out.User, token) {
			t.Errorf("%q survived", token)
		}
	}
}

func FuzzHostileData(f *testing.F) {
	files, err := filepath.Glob("testdata/hostile/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	harmless := render(f, "Write about ${input.note}.", agent.Brief{Worker: "w", Input: json.RawMessage(`{"note": "hello"}`)})
	f.Fuzz(func(t *testing.T, text string) { hold(t, harmless, text) })
}

// A text that repeats the delimiters of its own prompt changes them.
func TestACopiedDelimiterIsAnother(t *testing.T) {
	t.Parallel()
	note := "hello"
	for range 5 {
		raw := fmt.Appendf(nil, `{"note": %q}`, note)
		harmless := render(t, "Write about ${input.note}.", agent.Brief{Worker: "w", Input: json.RawMessage(`{"note": "hello"}`)})
		out := render(t, "Write about ${input.note}.", agent.Brief{Worker: "w", Input: raw})
		note = out.User + note
		if len(note) > 20_000 {
			break
		}
		hold(t, harmless, note)
	}
}
