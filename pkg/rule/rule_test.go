package rule_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop/pkg/rule"
	"github.com/outerloop-dev/outerloop/pkg/schema"
)

const scan = `{"type":"object","required":["read","open","closed","stale","rejected","rates","total"],"properties":{
 "read":{"type":"integer"},"open":{"type":"integer"},"closed":{"type":"integer"},"total":{"type":"number"},
 "stale":{"type":"array","items":{"$ref":"#/$defs/deal"}},"rejected":{"type":"array","items":{"type":"object"}},
 "rates":{"type":"object","additionalProperties":{"type":"number"}},
 "counts":{"type":"array","items":{"type":"integer"}},"prices":{"type":"array","items":{"type":"number"}},
 "note":{"type":"string"},"best":{"$ref":"#/$defs/deal"},"maybe":{"type":["number","null"]}},
 "$defs":{"deal":{"type":"object","required":["id","name"],"properties":{"id":{"type":"string"},"name":{"type":"string"},
   "amount":{"type":"number"},"stage":{"enum":["open","won","lost"]}}}}}`

const qualify = `{"type":"object","required":["result"],"properties":{"result":{"enum":["qualified","unqualified","needs_review"]},"score":{"type":"integer"}}}`

func typed(t testing.TB, doc string) *schema.Type {
	t.Helper()
	s, err := schema.Compile("test.json", []byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return s.Type()
}

func environment(t testing.TB) *rule.Env {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	e, err := rule.NewEnv(rule.Config{Zone: berlin, Names: map[string]*schema.Type{
		"scan": typed(t, scan), "qualify": typed(t, qualify), "long": schema.Scalar(schema.Any), "text": schema.Scalar(schema.String), "any": schema.Scalar(schema.Any),
		"run": rule.RunType(), "about": rule.AboutType("scan", "qualify", "send"), "draft": typed(t, qualify),
		"event": rule.EventType(schema.Scalar(schema.Any)), "send": typed(t, `{"type":"object","properties":{"message_id":{"type":"string"}}}`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func data(t testing.TB) rule.Vars {
	t.Helper()
	var v map[string]any
	err := json.Unmarshal([]byte(`{
	 "scan":{"read":5,"open":3,"closed":1,"total":10.5,"rejected":[{}],"rates":{"USD":1,"GBP":1.17},"counts":[1,2,3],"prices":[1,2.5],"maybe":null,
	   "stale":[{"id":"d1","name":"A","amount":10000,"stage":"open"},{"id":"d2","name":"B","stage":"won"}]},
	 "qualify":{"result":"qualified","score":7},
	 "send":{},
	 "any":{"n":3,"list":[1,2],"deep":{"x":"y"},"nothing":null},
	 "event":{"body":{"created":"2026-11-30T07:00:00Z","amount":3},"headers":{"x":"1"}},
	 "run":{"id":"r1","subject":"s","as_of":"2026-11-29T23:30:00Z","started_at":"2026-11-30T06:00:00Z","deadline":"2026-12-01T06:00:00Z","spent":0.5},
	 "about":{"scan":{"status":"completed","confidence":"high","attempts":1,"cost":0.1,"evidence":[],"ended_at":"2026-11-30T06:01:00Z"},
	   "qualify":{"status":"completed","attempts":1},"send":{"status":"skipped"}}}`), &v)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var evaluated = map[string]any{
	`scan.read == scan.open + scan.closed + scan.rejected.size()`: true,
	`scan.stale[0].amount >= 10000`:                               true,
	`scan.stale[0].amount == 10000`:                               true,
	`scan.total * 2`:                                              21.0,
	`scan.read * 0.5`:                                             2.5,
	`scan.read + 1`:                                               int64(6),
	`scan.total + scan.read`:                                      15.5,
	`scan.total == scan.read`:                                     false,
	`scan.read in scan.prices`:                                    false,
	`1 in scan.prices`:                                            true,
	`true ? 1 : scan.total`:                                       1.0,
	`any.n * 2`:                                                   6.0,
	`any.n + scan.read`:                                           8.0,
	`any.n == 3`:                                                  true,
	`any.n > 2 && any.list.size() == 2`:                           true,
	`sum(scan.counts)`:                                            int64(6),
	`sum(scan.prices)`:                                            3.5,
	`sum(any.list) + 1`:                                           4.0,
	`sum(scan.stale.map(d, default(d.amount, 0)))`:                10000.0,
	`sum(scan.stale.filter(d, d.id == "x").map(d, d.amount)) < 1`:   true,
	`math.abs(sum(scan.prices) - 3.5) < 0.01`:                       true,
	`scan.stale.all(d, d.id in scan.stale.map(x, x.id))`:            true,
	`scan.stale.exists(d, d.stage == "won")`:                        true,
	`default(send.message_id, "none")`:                              "none",
	`default(draft.result, "none")`:                                 "none",
	`default(draft, {})`:                                            map[string]any{},
	`default(any.missing.deep, 7)`:                                  int64(7),
	`default(any.nothing, 7)`:                                       int64(7),
	`default(any.list[9], 7)`:                                       int64(7),
	`default(scan.maybe, 1)`:                                        1.0,
	`default(qualify.score, 0.5)`:                                   7.0,
	`has(scan.note)`:                                                false,
	`has(scan.maybe)`:                                               true,
	`has(qualify.score) && qualify.score > 6.5`:                     true,
	`scan.maybe == null`:                                            true,
	`about.qualify.confidence != "high"`:                            true,
	`about.scan.confidence == "high"`:                               true,
	`about.scan.ended_at <= month_end(run.as_of) - duration("12h")`: true,
	`about.send.ended_at == null`:                                   true,
	`day(run.as_of)`:                                                "2026-11-30",
	`week(run.as_of)`:                                               "2026-W49",
	`month(run.as_of)`:                                              "2026-11",
	`quarter(run.as_of)`:                                            "2026-Q4",
	`month(month_end(run.as_of) + duration("24h"))`:                 "2026-12",
	`quarter(run.as_of - duration("24h"))`:                          "2026-Q4",
	`run.as_of`:                                                     "2026-11-29T23:30:00Z",
	`run.as_of + duration("14d")`:                                   "2026-12-13T23:30:00Z",
	`next(run.as_of, "Thu 10:00")`:                                  "2026-12-03T09:00:00Z",
	`next(run.as_of, "10:00")`:                                      "2026-11-30T09:00:00Z",
	`month_end(run.as_of)`:                                          "2026-11-30T22:59:59Z",
	`timestamp(event.body.created) + duration("72h")`:               "2026-12-03T07:00:00Z",
	`event.headers.x + "!"`:                                         "1!",
	`scan.rates["USD"] + scan.rates.GBP`:                            2.17,
	`scan.rates.all(c, scan.rates[c] > 0)`:                          true,
	`scan.stale[1]["name"]`:                                         "B",
	`"name" in scan.stale[1]`:                                       true,
	`size(scan.stale[1])`:                                           int64(3),
	`scan.stale[0] == scan.stale[0]`:                                true,
	`scan.stale[0]`:                                                 map[string]any{"id": "d1", "name": "A", "amount": 10000.0, "stage": "open"},
	`{"a": [1, scan.total], "b": {"c": run.as_of}}`:                 map[string]any{"a": []any{int64(1), 10.5}, "b": map[string]any{"c": "2026-11-29T23:30:00Z"}},
	`"legal" in ["a", "legal"]`:                                     true,
	`run.spent < 1`:                                                 true,
	`"abc".upperAscii()`:                                            "ABC",
	`duration("90s")`:                                               "90s",
}

func TestEval(t *testing.T) {
	t.Parallel()
	e, vars := environment(t), data(t)
	for source, want := range evaluated {
		p, faults := e.Compile(source)
		if faults != nil {
			t.Errorf("%s: %v", source, faults)
			continue
		}
		got, err := p.Eval(context.Background(), vars)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", source, diff)
		}
	}
}

func TestFaultsSayWhereAndWhatInstead(t *testing.T) {
	t.Parallel()
	e := environment(t)
	for source, want := range map[string]string{
		`qualify.resutl == "qualified"`:          `8+6 unknown_field qualify has no field "resutl". Did you mean "result"?`,
		`scan.stale.all(d, d.nme != "")`:         `20+3 unknown_field d has no field "nme". Did you mean "name"?`,
		`scan.stale[0].nme`:                      `14+3 unknown_field scan.stale[] has no field "nme". Did you mean "name"?`,
		`scann.read`:                             `0+5 unknown_name there is no name "scann" here. Did you mean "scan"?`,
		`quartr(run.as_of)`:                      `0+6 unknown_call there is no function "quartr" here. Did you mean "quarter"?`,
		`qualify.result == "qualfied"`:           `18+10 literal "qualfied" is not one of the values that this can have. Did you mean "qualified"?`,
		`qualify.result in ["qualified", "bad"]`: `32+5 literal "bad" is not one of the values that this can have; there are qualified, unqualified, needs_review`,
		`about.send.status == "complete"`:        `21+10 literal "complete" is not one of the values that this can have. Did you mean "completed"?`,
		`qualify.result == 5`:                    `15+1 type a string and an integer are never equal`,
		`qualify.score + "x"`:                    `14+1 type + does not work with an integer and a string`,
		`qualify.score.x`:                        `14+1 unknown_field qualify.score is an integer, it has no field "x"`,
		`duration("14 days")`:                    `9+9 literal "14 days" is no duration; write for example 90s, 15m, 4h, 14d`,
		`timestamp("2026-13-01")`:                `10+12 literal "2026-13-01" is no RFC 3339 time such as 2026-11-30T07:00:00Z`,
		`next(run.as_of, "Thursay 10:00")`:       `16+15 literal "Thursay 10:00" has no weekday; write Sun, Mon, Tue, Wed, Thu, Fri or Sat, such as Thu 10:00`,
		`"a".matches("(")`:                       `12+3 literal the pattern cannot be read: error parsing regexp: missing closing ): ` + "`(`",
		`default(1, 2)`:                          `8+1 type default(…) takes a name or a path such as draft.text first, then the value to use where it is absent`,
		`qualify.result ==`:                      `17+1 syntax the expression cannot be read: mismatched input 'its end'`,
		`qualify.result == "x`:                   `18+1 syntax the expression cannot be read: a string has no closing quote`,
		`now() > run.as_of`:                      `0+3 unknown_call there is no function "now" here`,
		`scan.read.all(x, x > 1)`:                `4+1 type this goes through a list, but scan.read is an integer`,
		`scan.tale.size() == qualify.scor`:       `5+4 unknown_field scan has no field "tale". Did you mean "stale"?|28+4 unknown_field qualify has no field "scor". Did you mean "score"?`,
		"\n  ä.x":                                `3+1 syntax the expression cannot be read: token recognition error at: 'ä'`,
		`qualify.score = 5`:                      `14+1 syntax the expression cannot be read here; write == to compare`,
		`qualify.score > 5 and scan.read > 1`:    `18+1 syntax the expression cannot be read here; write && for and`,
		``:                                       `0+1 syntax the expression is empty`,
	} {
		_, faults := e.Compile(source)
		var got []string
		for _, f := range faults {
			got = append(got, itoa(f.Offset)+"+"+itoa(f.Length)+" "+string(f.Kind)+" "+f.Message)
		}
		if text := strings.Join(got, "|"); text != want && !(strings.HasPrefix(text, want) && len(want) > 60) {
			t.Errorf("%s:\n got %s\nwant %s", source, text, want)
		}
	}
	if _, faults := e.CompileBool(`scan.read`); faults == nil || faults[0].Message != "a rule must be true or false, but this is an integer" {
		t.Error(faults)
	}
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

func TestErrorsAreTyped(t *testing.T) {
	t.Parallel()
	e, vars := environment(t), data(t)
	eval := func(source string) error {
		p, faults := e.Compile(source)
		if faults != nil {
			t.Fatal(faults)
		}
		_, err := p.Eval(context.Background(), vars)
		return err
	}
	var absent *rule.AbsentError
	if err := eval(`send.message_id == "x"`); !errors.As(err, &absent) || absent.Path != "send.message_id" || absent.Root {
		t.Error(err)
	}
	if err := eval(`draft.result == "qualified"`); !errors.As(err, &absent) || absent.Path != "draft" || !absent.Root {
		t.Error(err)
	}
	if err := eval(`qualify.score > 0 && send.message_id + "" == "x"`); !errors.As(err, &absent) || absent.Path != "send.message_id" {
		t.Error(err)
	}
	vars["draft"] = map[string]any{"result": "qualified"} // of the same schema as qualify
	if err := eval(`draft.score > 1`); !errors.As(err, &absent) || absent.Path != "draft.score" {
		t.Error(err)
	}
	if err := eval(`scan.stale.all(d, d.amount > 0)`); !errors.As(err, &absent) || absent.Path != "scan.stale[].amount" {
		t.Error(err)
	}
	if err := eval(`any.missing == 1`); !errors.As(err, &absent) || absent.Path != "any.missing" {
		t.Error(err)
	}
	big := make([]any, 2000)
	vars["any"] = big
	var cost *rule.CostError
	if err := eval(`any.all(a, any.all(b, a == b))`); !errors.As(err, &cost) || cost.Limit != rule.DefaultCostLimit {
		t.Error(err)
	}
}

// Whatever is written, it is refused or compiled at once.
func TestHugeExpressionsEnd(t *testing.T) {
	t.Parallel()
	e := environment(t)
	for name, source := range map[string]string{
		"brackets": strings.Repeat("(", 9000), "lists": strings.Repeat("[", 9000) + strings.Repeat("]", 9000), "nots": strings.Repeat("!", 9000) + "true",
		"sum": "1" + strings.Repeat("+1", 9000), "path": "any" + strings.Repeat(".x", 9000), "or": "true" + strings.Repeat("||true", 3000),
		"too long": strings.Repeat(" ", 30000) + "1", "mixed": "1" + strings.Repeat("+1.5+1", 2000), "macros": strings.Repeat("[1].map(x,", 90) + "1" + strings.Repeat(")", 90),
		"few mixed":  "1" + strings.Repeat("+1.5+1", 20) + " == 51",
		"conditions": strings.Repeat("true?1:", 3000) + "1",
	} {
		start := time.Now()
		p, faults := e.Compile(source)
		if (p == nil) == (faults == nil) {
			t.Errorf("%s: neither program nor faults", name)
		}
		t.Logf("%s: %s, compiled %v", name, time.Since(start), p != nil)
	}
}

func TestEnvironmentsAreSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	e, vars := environment(t), data(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			source := `scan.stale.all(d, d.name != "` + itoa(i) + `") && scan.best == scan.best || run.spent > 1`
			p, faults := e.Compile(source)
			if faults != nil {
				t.Error(faults)
				return
			}
			_, _ = p.EvalBool(context.Background(), vars)
			_, _ = p.Decide(context.Background(), vars)
		})
	}
	wg.Wait()
}
