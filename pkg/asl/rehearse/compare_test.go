package rehearse_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/asl/rehearse"
)

// compare says what differs between what was recorded and an outcome.
func (c recorded) compare(got rehearse.Outcome) error {
	want := c.Expect
	if got.Status != want.Status {
		return fmt.Errorf("status is %s, want %s (error %s, cause %s)", got.Status, want.Status, show(got.Error), show(got.Cause))
	}
	masks := newMasks(c.Masks)
	if !masks.equal(decode(want.Output), decode(got.Output)) {
		return fmt.Errorf("output is %s, want %s", got.Output, want.Output)
	}
	if !c.text(masks, want.Error, got.Error) {
		return fmt.Errorf("error is %s, want %s (cause %s)", show(got.Error), show(want.Error), show(got.Cause))
	}
	if !c.cause(masks, got.Cause) {
		return fmt.Errorf("cause is %s, want %s", show(got.Cause), show(want.Cause))
	}
	return c.events(got.Events)
}

func show(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

func decode(v json.RawMessage) any {
	if len(v) == 0 {
		return nil
	}
	var out any
	if err := json.Unmarshal(v, &out); err != nil {
		return fmt.Sprintf("invalid JSON: %s", v)
	}
	return out
}

func (c recorded) text(masks masks, want, got *string) bool {
	if want == nil || got == nil {
		return want == got
	}
	if c.MaskedCause {
		return masks.match(*want, *got)
	}
	return *want == *got
}

func (c recorded) cause(masks masks, got *string) bool {
	want := c.Expect.Cause
	if !c.CauseJSON || want == nil || got == nil {
		return c.text(masks, want, got)
	}
	var w, g any
	if json.Unmarshal([]byte(*want), &w) != nil || json.Unmarshal([]byte(*got), &g) != nil {
		return false
	}
	return masks.equal(w, g)
}

// masks are the wildcards of one case.
type masks struct{ pattern *regexp.Regexp }

func newMasks(words []string) masks {
	p := `<+[^<>]*>(?::\d+>)?`
	for _, w := range words {
		p += `|\b` + regexp.QuoteMeta(w) + `\b`
	}
	return masks{regexp.MustCompile(p)}
}

func (m masks) match(want, got string) bool {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	last := 0
	for _, at := range m.pattern.FindAllStringIndex(want, -1) {
		b.WriteString(regexp.QuoteMeta(want[last:at[0]]) + `.*`)
		last = at[1]
	}
	b.WriteString(regexp.QuoteMeta(want[last:]) + `\z`)
	return regexp.MustCompile(b.String()).MatchString(got)
}

func (m masks) only(s string) bool {
	at := m.pattern.FindStringIndex(s)
	return at != nil && at[0] == 0 && at[1] == len(s)
}

func (m masks) equal(want, got any) bool {
	switch w := want.(type) {
	case string:
		if m.only(w) {
			return true
		}
		g, ok := got.(string)
		return ok && m.match(w, g)
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range w {
			if !m.equal(w[i], g[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for k := range w {
			if _, ok := g[k]; !ok || !m.equal(w[k], g[k]) {
				return false
			}
		}
		return true
	}
	return want == got
}

// events compares the order of events; within a Parallel or Map only which
// there are.
func (c recorded) events(got []asl.HistoryType) error {
	want := c.Expect.Events
	switch {
	case want == nil:
		return nil
	case len(got) == 0 || len(want) == 0:
		return fmt.Errorf("events are %v, want %v", got, want)
	case c.RacyEvents:
		if got[len(got)-1] != want[len(want)-1] {
			return fmt.Errorf("last event is %s, want %s", got[len(got)-1], want[len(want)-1])
		}
		return nil
	}
	if w, g := normalEvents(want), normalEvents(got); !slices.Equal(w, g) {
		return fmt.Errorf("events are %v,\nwant %v", got, want)
	}
	return nil
}

var (
	groupStart = regexp.MustCompile(`^(Parallel|Map)StateStarted$`)
	groupEnd   = regexp.MustCompile(`^(Parallel|Map)State(Succeeded|Failed|Aborted)$`)
)

// normalEvents sorts the events between the start and the end of each outermost
// Parallel or Map.
func normalEvents(events []asl.HistoryType) []asl.HistoryType {
	out := slices.Clone(events)
	for i := 0; i < len(out); i++ {
		if !groupStart.MatchString(string(out[i])) {
			continue
		}
		end := groupEndAt(out, i)
		slices.Sort(out[i+1 : end])
		i = end
	}
	return out
}

// groupEndAt returns the index of the event that ends the group begun at i. A
// group that is retried starts again before its end.
func groupEndAt(events []asl.HistoryType, i int) int {
	kind := bytes.TrimSuffix([]byte(events[i]), []byte("Started"))
	entered := 0
	for j := i + 1; j < len(events); j++ {
		e := string(events[j])
		switch {
		case e == string(bytes.TrimSuffix(kind, []byte("State")))+"StateEntered":
			entered++
		case groupEnd.MatchString(e) && strings.HasPrefix(e, string(kind)):
			if entered == 0 {
				return j
			}
			entered--
		}
	}
	return len(events) - 1
}
