package rule_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop/pkg/rule"
	"github.com/outerloop-dev/outerloop/pkg/schema"
)

func TestTemplates(t *testing.T) {
	t.Parallel()
	e, vars := environment(t), data(t)
	for text, want := range map[string]string{
		"plain": "plain", "": "", "a } b": "a } b", "costs $5": "costs $5", "$${x} and ${run.id}": "${x} and r1",
		"${scan.total} of ${scan.read}":       "10.5 of 5",
		"${scan.stale[0].amount} EUR":         "10000 EUR",
		"${run.as_of}/${week(run.as_of)}":     "2026-11-29T23:30:00Z/2026-W49",
		`${default(send.message_id, "}")}!`:   "}!",
		`${ {"a": {"b": "x"}}["a"]["b"] }.`:   "x.",
		`${'it\'s }' + r"\}"}|`:               `it's }\}|`,
		"${about.send.status == 'skipped'} ä": "true ä",
		"${1.0/3.0}, ${1e21*1.0}":             "0.3333333333333333, 1e+21",
	} {
		p, faults := e.CompileText(text)
		if faults != nil {
			t.Errorf("%s: %v", text, faults)
			continue
		}
		if got, err := p.Eval(context.Background(), vars); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"a ${b":                    "1:3: ${ has no } that closes it; write $${ for a literal ${",
		"ä ${  }":                  "1:3: ${} is empty",
		`${"}`:                     "1:1: ${ has no } that closes it; write $${ for a literal ${",
		"x ${qualify.resutl} y":    `1:13: qualify has no field "resutl". Did you mean "result"?`,
		"line\nä ${qualify.scor}!": `2:13: qualify has no field "scor". Did you mean "score"?`,
		"all: ${scan.stale}":       "1:8: an array cannot stand in text; name one of its parts",
		"${scan.best} is best":     "1:3: an object cannot stand in text; name one of its parts",
	} {
		if _, faults := e.CompileText(text); faults == nil || faults.Error() != want {
			t.Errorf("%s: got %v, want %s", text, faults, want)
		}
	}
	p, _ := e.CompileText("is ${scan.maybe}")
	if _, err := p.Eval(context.Background(), vars); err == nil || !strings.Contains(err.Error(), "it is null") {
		t.Error(err)
	}
}

func TestValueTree(t *testing.T) {
	t.Parallel()
	e, vars := environment(t), data(t)
	v, faults := e.CompileValue(map[string]any{
		"deal": "${scan.stale[0]}", "n": "${scan.read}", "text": "n=${scan.read}", "fixed": uint64(7), "list": []any{"${run.id}", true, nil, 1.5},
		"absent": "${scan.note}", "score": "${default(qualify.score, 0)}", "when": "${run.as_of}", "mode": "fast", "dollar": "$${x}",
	})
	if faults != nil {
		t.Fatal(faults)
	}
	got, err := v.Eval(context.Background(), vars)
	want := map[string]any{
		"deal": map[string]any{"id": "d1", "name": "A", "amount": 10000.0, "stage": "open"}, "n": int64(5), "text": "n=5", "fixed": int64(7),
		"list": []any{"r1", true, nil, 1.5}, "score": int64(7), "when": "2026-11-29T23:30:00Z", "mode": "fast", "dollar": "${x}",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	var refs []string
	for _, r := range v.References() {
		name := r.String()
		if r.Waits {
			name += "?"
		}
		refs = append(refs, name)
	}
	if got := strings.Join(refs, " "); got != "scan.note scan.stale.0 run.id scan.read qualify.score? run.as_of" {
		t.Error(got)
	}
	_, faults = e.CompileValue(map[string]any{"a": []any{"x", "${scan.raed}"}, "b": map[string]any{"c/d": "${"}, "e": struct{}{}})
	if got := faults.Error(); got != `/a/1: 1:8: scan has no field "raed". Did you mean "read"?; /b/c~1d: 1:1: ${ has no } that closes it; write $${ for a literal ${; /e: 1:1: a struct {} is no JSON value` {
		t.Error(got)
	}
}

func TestValueTypeMeetsTheConsumersSchema(t *testing.T) {
	t.Parallel()
	e := environment(t)
	consumer := typed(t, `{"type":"object","additionalProperties":false,"required":["n","stage","due","name"],"properties":{
	  "n":{"type":"integer"},"stage":{"enum":["open","won"]},"due":{"type":"string","format":"date"},"name":{"type":"string","minLength":3},
	  "score":{"type":"integer"},"at":{"type":"string","format":"date-time"},"ids":{"type":"array","items":{"type":"string"}},"note":{"type":"string"}}}`)
	check := func(tree any) string {
		t.Helper()
		v, faults := e.CompileValue(tree)
		if faults != nil {
			t.Fatal(faults)
		}
		var lines []string
		for _, f := range schema.Compatible(v.Type(), consumer) {
			lines = append(lines, f.String())
		}
		return strings.Join(lines, "\n")
	}
	if got := check(map[string]any{
		"n": "${scan.read}", "stage": "open", "due": "${day(run.as_of)}", "name": "${scan.stale[0].name}", "score": "${default(qualify.score, 1)}",
		"at": "${run.as_of}", "ids": "${scan.stale.map(d, d.id)}", "note": "${scan.note}",
	}); got != "" {
		t.Error(got)
	}
	got := check(map[string]any{
		"n": "${scan.total}", "stage": "${scan.stale[0].stage}", "due": "${run.as_of}", "name": "ab", "scor": 1,
		"score": "${qualify.result}", "ids": "${scan.counts}",
	})
	want := `/due is a point in time, but must be a date; day(…) gives the date
/ids/[] is integer, but must be string
/n is a number, but must be an integer; int(…) cuts the fraction off
/name may be "ab", but must have at least 3 characters, but has 2
/scor is not a known field. Did you mean "score"?
/score is "qualified", "unqualified" or "needs_review", but must be integer
/stage may be "lost", but must be one of "open", "won"
/stage is required, but may be absent; default(…) gives a value instead`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`a.b.c + a.b`:                               "a.b.c@0+5 a.b@8+3",
		`default(a.b, c.d) == a.x`:                  "a.b?@8+3 c.d?@13+3 a.x@21+3",
		`default(a.b, 1) > a.b`:                     "a.b@8+3",
		`about.send.status == "x" && has(send.id)`:  "about.send.status?@0+17 send.id@32+7",
		`list.all(x, x.y == other.z && x in list)`:  "list@0+4 other.z@19+7",
		`list.map(x, x.y)[0].z`:                     "list@0+4",
		`a[0].b["k"].c + a[i].d`:                    "a.0.b.k.c@0+13 a@16+1 i@18+1",
		`math.abs(a.b) + sum(c) + size(d)`:          "a.b@9+3 c@20+1 d@30+1",
		`{"k": a.b, c: [d]}`:                        "a.b@6+3 c@11+1 d@15+1",
		`"ä" + a . b`:                               "a.b@7+5",
		`[1].exists(a, [2].exists(b, a == b)) && a`: "a@40+1",
	} {
		refs, faults := rule.References(source)
		if faults != nil {
			t.Errorf("%s: %v", source, faults)
			continue
		}
		var got []string
		for _, r := range refs {
			s := r.String()
			if r.Waits {
				s += "?"
			}
			got = append(got, s+"@"+itoa(r.Offset)+"+"+itoa(r.Length))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s:\n got %s\nwant %s", source, text, want)
		}
	}
}

// R5: every decision is logged with the rule and the values that decided it.
func TestDecideNamesTheValuesItRead(t *testing.T) {
	t.Parallel()
	e, vars := environment(t), data(t)
	vars["long"], vars["text"] = make([]any, 3000), strings.Repeat("ä", 1000)
	for source, want := range map[string]rule.Decision{
		`scan.stale[0].amount >= 10000 || about.qualify.confidence != "high"`: {Result: true, Values: map[string]any{"scan.stale.0.amount": 10000.0}},
		`scan.stale[0].amount > 10000 || about.qualify.confidence != "high"`: {Result: true, Values: map[string]any{
			"scan.stale.0.amount": 10000.0, "about.qualify.confidence": nil}},
		`scan.read == scan.open + scan.closed + scan.rejected.size()`: {Result: true, Values: map[string]any{
			"scan.read": int64(5), "scan.open": int64(3), "scan.closed": int64(1), "scan.rejected": []any{map[string]any{}}}},
		`default(send.message_id, "none") == "none" && scan.total == 10.5`: {Result: true, Values: map[string]any{"scan.total": 10.5}},
		`long.size() == 3000 && scan.counts.size() + text.size() > 0`: {Result: true, Values: map[string]any{
			"long": "(array of 3000)", "scan.counts": []any{int64(1), int64(2), int64(3)}, "text": strings.Repeat("ä", 200) + "…"}},
		`scan.counts.exists(c, c > scan.open)`: {Result: false, Values: map[string]any{"scan.counts": []any{int64(1), int64(2), int64(3)}, "scan.open": int64(3)}},
	} {
		p, faults := e.CompileBool(source)
		if faults != nil {
			t.Fatal(faults)
		}
		want.Rule = source
		got, err := p.Decide(context.Background(), vars)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %s %v", source, diff, err)
		}
	}
}
