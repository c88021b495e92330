package rehearse_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/asl/rehearse"
)

// recordedCases is where the executions recorded from AWS are, if at all.
const recordedCases = "../../../../shared/asl-cases/shared.jsonl"

// notPassed lists the cases that do not pass, each with its reason. It may only
// get shorter.
const notPassed = "testdata/not_passed.txt"

// mostNotPassed is how many cases may be listed.
const mostNotPassed = 22

// recorded is one execution recorded from AWS.
type recorded struct {
	Name          string          `json:"name"`
	QueryLanguage string          `json:"query_language"`
	Type          string          `json:"type"`
	Definition    json.RawMessage `json:"definition"`
	Input         json.RawMessage `json:"input"`
	Mocks         rehearse.Mocks  `json:"mocks"`
	Expect        expectation     `json:"expect"`
	Masked        bool            `json:"masked"`
	MaskedCause   bool            `json:"masked_cause"`
	CauseJSON     bool            `json:"cause_json"`
	Masks         []string        `json:"masks"`
	RacyEvents    bool            `json:"racy_events"`
}

type expectation struct {
	Status asl.Status        `json:"status"`
	Output json.RawMessage   `json:"output"`
	Error  *string           `json:"error"`
	Cause  *string           `json:"cause"`
	Events []asl.HistoryType `json:"events"`
}

// R(issue 4): what AWS recorded is what the interpreter does.
func TestRecordedExecutions(t *testing.T) {
	t.Parallel()
	cases := readRecorded(t)
	listed := readNotPassed(t)
	passed, total := 0, 0
	for _, c := range cases {
		if c.QueryLanguage != "JSONPath" {
			continue
		}
		total++
		err := c.run()
		reason, known := listed[c.Name]
		switch {
		case err == nil && known:
			t.Errorf("%s passes now: take it off %s (%s)", c.Name, notPassed, reason)
		case err != nil && !known:
			t.Errorf("%s: %v", c.Name, err)
		}
		if err == nil {
			passed++
		}
		delete(listed, c.Name)
	}
	for name := range listed {
		t.Errorf("%s is listed in %s but is no case", name, notPassed)
	}
	if total-passed > mostNotPassed {
		t.Errorf("%d cases do not pass, at most %d may", total-passed, mostNotPassed)
	}
	t.Logf("recorded executions passed: %d of %d", passed, total)
	fmt.Printf("recorded executions passed: %d of %d\n", passed, total)
}

func (c recorded) run() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	m, err := asl.Load(c.Definition, asl.WithType(asl.Type(c.Type)))
	if c.Type == "" {
		m, err = asl.Load(c.Definition)
	}
	if err != nil {
		return fmt.Errorf("loading: %w", err)
	}
	got, err := rehearse.Run(m, c.Input, c.Mocks)
	if err != nil {
		return fmt.Errorf("running: %w", err)
	}
	return c.compare(got)
}

func readRecorded(t *testing.T) []recorded {
	t.Helper()
	f, err := os.Open(recordedCases)
	if err != nil {
		t.Skipf("no recorded executions here: %v", err)
	}
	defer f.Close()
	var cases []recorded
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var c recorded
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return cases
}

// readNotPassed reads lines of a case's name, a tab and the reason.
func readNotPassed(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(notPassed))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, "\t")
		if !ok || strings.TrimSpace(reason) == "" {
			t.Fatalf("%s: no reason in %q", notPassed, line)
		}
		listed[name] = reason
	}
	return listed
}
