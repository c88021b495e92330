package problem

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var example = Problem{
	Code: "E117", Rule: "unknown field", Path: "statemachines/crm-followup.loop.yaml", Line: 47, Column: 23, Width: 6,
	Excerpt: `        when: qualify.resutl == "qualified"`,
	Message: `lead-qualifier's output has no field "resutl". Did you mean "result"?`,
	See:     "functions/workers/lead-qualifier/schemas/output.json",
}

func TestPrintShowsPlaceRuleAndRemedy(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := (Problems{example}).Print(&b); err != nil {
		t.Fatal(err)
	}
	want := `statemachines/crm-followup.loop.yaml:47:23  E117 unknown field
   47 |         when: qualify.resutl == "qualified"
      |                       ^^^^^^
      lead-qualifier's output has no field "resutl". Did you mean "result"?
      (functions/workers/lead-qualifier/schemas/output.json)   outerloop explain E117
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A long line is cut around the place, and what a terminal would act on is made visible.
func TestPrintOfALongLine(t *testing.T) {
	t.Parallel()
	p := Problem{Code: "E101", Rule: "not YAML", Path: "a", Line: 1, Column: 503, Width: 2, Excerpt: strings.Repeat("x", 500) + "\x1b\tHERE" + strings.Repeat("y", 500), Message: "Wrong."}
	var b strings.Builder
	if err := (Problems{p}).Print(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if len([]rune(lines[1])) > 130 || strings.Contains(b.String(), "\x1b") {
		t.Errorf("not cut or not escaped: %q", lines[1])
	}
	if at := strings.Index(lines[2], "^"); !strings.HasPrefix(string([]rune(lines[1])[at:]), "HE") {
		t.Errorf("carets at the wrong place:\n%s\n%s", lines[1], lines[2])
	}
}

func TestProblemsAsJSON(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(Problems{example, {Code: "W303", Path: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got[0]["severity"] != "error" || got[1]["severity"] != "warning" || got[0]["line"] != 47.0 || got[0]["code"] != "E117" {
		t.Errorf("got %s", raw)
	}
}

func TestWarningsAreWarningsUnlessStrict(t *testing.T) {
	t.Parallel()
	ps := Problems{{Code: "W303"}}
	if ps.Err() != nil || ps.Errors() != 0 {
		t.Error("a warning counts as an error")
	}
	strict := ps.Strict()
	if strict.Err() == nil || Title(strict[0].Code) != Title("W303") || ps[0].Code != "W303" {
		t.Errorf("got %v", strict)
	}
}

var (
	mention = regexp.MustCompile(`"([EW][0-9]{3})"`)
	numbers = regexp.MustCompile(`^[EW][0-9]{3}$`)
)

// Every code that is reported is explained, and every explained code is reported somewhere.
func TestTheTableOfCodesIsWhole(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	files, err := filepath.Glob("../*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || filepath.Base(file) == "table.go" {
			continue
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range mention.FindAllSubmatch(raw, -1) {
			used[string(found[1])] = true
		}
	}
	seen := map[string]bool{}
	for _, code := range Codes() {
		if seen[code.ID] || !numbers.MatchString(code.ID) || code.Title == "" || !strings.HasSuffix(code.Text, ".") {
			t.Errorf("row %+v is double or not complete", code)
		}
		seen[code.ID] = true
		if !used[code.ID] {
			t.Errorf("%s is explained but never reported", code.ID)
		}
		if rest, found := strings.CutPrefix(code.ID, "W"); found && seen["E"+rest] {
			t.Errorf("%s made strict is another code", code.ID)
		}
	}
	for code := range used {
		if !seen[code] {
			t.Errorf("%s is reported but not explained", code)
		}
	}
}

func TestSortedDropsRepetitions(t *testing.T) {
	t.Parallel()
	ps := Problems{{Path: "b"}, {Path: "a", Line: 2}, {Path: "a", Line: 1}, {Path: "b"}}.Sorted()
	var b bytes.Buffer
	for _, p := range ps {
		b.WriteString(p.Path)
	}
	if b.String() != "aab" || ps[0].Line != 1 {
		t.Errorf("got %v", ps)
	}
}
