package asl_test

import (
	"encoding/json"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/asl"
)

func TestIntrinsics(t *testing.T) {
	t.Parallel()
	input := `{"a":[3,1,3,1.0,"1"],"s":"x,y;z","o":{"k":1},"p":{"k":2,"l":[]},"n":null,"e":[]}`
	const fails = "States.IntrinsicFailure"
	for call, want := range map[string]string{
		`States.Array()`:                                     `[]`,
		`States.Array(1, 'b', $.n, true, $.o)`:               `[1,"b",null,true,{"k":1}]`,
		`States.ArrayPartition($.a, 2)`:                      `[[3,1],[3,1.0],["1"]]`,
		`States.ArrayPartition($.a, 0)`:                      fails,
		`States.ArrayContains($.a, 1)`:                       `true`,
		`States.ArrayContains($.a, '3')`:                     `false`,
		`States.ArrayRange(1, 9, 3)`:                         `[1,4,7]`,
		`States.ArrayRange(3, 1, -1)`:                        `[3,2,1]`,
		`States.ArrayRange(1, 9, 0)`:                         fails,
		`States.ArrayRange(0, 1000, 1)`:                      fails,
		`States.ArrayGetItem($.a, 4)`:                        `"1"`,
		`States.ArrayGetItem($.a, 5)`:                        fails,
		`States.ArrayLength($.e)`:                            `0`,
		`States.ArrayUnique($.a)`:                            `[3,1,"1"]`,
		`States.Base64Encode('Data to encode')`:              `"RGF0YSB0byBlbmNvZGU="`,
		`States.Base64Decode('RGF0YSB0byBlbmNvZGU=')`:        `"Data to encode"`,
		`States.Base64Decode('*')`:                           fails,
		`States.Hash('input data', 'SHA-1')`:                 `"aaff4a450a104cd177d28d18d74485e8cae074b7"`,
		`States.Hash('input data', 'SHA1')`:                  fails,
		`States.JsonMerge($.o, $.p, false)`:                  `{"k":2,"l":[]}`,
		`States.JsonMerge($.o, $.p, true)`:                   fails,
		`States.JsonMerge($.o, $.a, false)`:                  fails,
		`States.StringToJson('{"a": [1, 2]}')`:               `{"a":[1,2]}`,
		`States.StringToJson('{')`:                           fails,
		`States.JsonToString($.p)`:                           `"{\"k\":2,\"l\":[]}"`,
		`States.MathAdd($.a[0], -1)`:                         `2`,
		`States.MathAdd(1.5, -1.5)`:                          `1`,
		`States.MathAdd('1', 1)`:                             fails,
		`States.MathRandom(5, 6)`:                            `5`,
		`States.MathRandom(6, 5)`:                            fails,
		`States.StringSplit($.s, ',;')`:                      `["x","y","z"]`,
		`States.Format('{} {} {}', $.s, $.n, $.p)`:           `"x,y;z null {k=2, l=[]}"`,
		`States.Format('\'\{{}\}\\', 1)`:                     `"'{1}\\"`,
		`States.Format('{}')`:                                fails,
		`States.Format('x', 1)`:                              fails,
		`States.Format('a\nb')`:                              `"a\nb"`,
		`States.ArrayLength(States.Array($.a, $['a'][1:3]))`: `2`,
		`States.ArrayGetItem($.a[?(@ == '1' && 2 > 1)], 0)`:  `1`,
		`States.MathAdd(States.MathAdd(1, 2), $.missing)`:    "States.Runtime",
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			d, err := asl.Encode(asl.Object{}.Add("StartAt", "X").Add("States", asl.Object{}.Add("X", asl.Object{}.
				Add("Type", "Pass").Add("Parameters", asl.Object{}.Add("x.$", call)).Add("OutputPath", "$.x").Add("End", true))))
			if err != nil {
				t.Fatal(err)
			}
			out := run(t, string(d), input, "")
			if got := string(out.Output); got != want && text(out.Error) != want {
				t.Errorf("gives %s (%s: %s), want %s", got, text(out.Error), text(out.Cause), want)
			}
		})
	}
}

// Randomness comes from the event's seed and is the same when replayed.
func TestRandomnessComesFromTheSeed(t *testing.T) {
	t.Parallel()
	m := load(t, one(`{"Type":"Pass","Parameters":{"u.$":"States.UUID()","v.$":"States.UUID()","n.$":"States.MathRandom(0,1000000)"},"End":true}`))
	output := func(seed asl.Seed) string {
		x := asl.New(m)
		if _, err := x.Apply(asl.Event{Kind: asl.Start, Seed: seed, Start: &asl.StartDetails{}}); err != nil {
			t.Fatal(err)
		}
		return string(x.Output())
	}
	a, b, c := output(asl.Seed{1}), output(asl.Seed{1}), output(asl.Seed{2})
	if a != b || a == c {
		t.Errorf("outputs are %s, %s and %s", a, b, c)
	}
	var v struct{ U, V string }
	if err := json.Unmarshal([]byte(a), &v); err != nil || v.U == v.V || len(v.U) != 36 || v.U[14] != '4' {
		t.Errorf("UUIDs are %q and %q, %v", v.U, v.V, err)
	}
}

func TestChoiceOperators(t *testing.T) {
	t.Parallel()
	input := `{"s":"abc*d","n":2,"f":2.0,"t":"2024-01-02T03:04:05Z","u":"2024-01-02T04:04:05+01:00","z":null,"b":true,"i":["x"]}`
	for rule, want := range map[string]string{
		`"Variable":"$.s","StringEquals":"abc*d"`:                                          "yes",
		`"Variable":"$.n","StringEquals":"2"`:                                              "no",
		`"Variable":"$.s","StringLessThan":"abd"`:                                          "yes",
		`"Variable":"$.n","NumericEqualsPath":"$.f"`:                                       "yes",
		`"Variable":"$.n","NumericGreaterThanEquals":2`:                                    "yes",
		`"Variable":"$.n","NumericLessThanPath":"$.f"`:                                     "no",
		`"Variable":"$.t","TimestampEqualsPath":"$.u"`:                                     "yes",
		`"Variable":"$.t","TimestampGreaterThan":"2024-01-02T03:04:04.5Z"`:                 "yes",
		`"Variable":"$.s","TimestampLessThan":"2024-01-02T03:04:04Z"`:                      "no",
		`"Variable":"$.b","BooleanEquals":true`:                                            "yes",
		`"Variable":"$.s","StringMatches":"a*\\*d"`:                                        "yes",
		`"Variable":"$.s","StringMatches":"abc\\*"`:                                        "no",
		`"Variable":"$.s","StringMatches":"*b*"`:                                           "yes",
		`"Variable":"$.s","StringMatches":"a*c*c*d"`:                                       "no",
		`"Variable":"$.z","IsNull":true`:                                                   "yes",
		`"Variable":"$.z","IsPresent":true`:                                                "yes",
		`"Variable":"$.q","IsPresent":false`:                                               "yes",
		`"Variable":"$.i[?(@=='y')]","IsPresent":true`:                                     "no",
		`"Variable":"$.t","IsTimestamp":true`:                                              "yes",
		`"Variable":"$.s","IsTimestamp":false`:                                             "yes",
		`"Variable":"$.f","IsNumeric":true`:                                                "yes",
		`"Variable":"$$.State.Name","StringEquals":"C"`:                                    "yes",
		`"Not":{"Variable":"$.b","IsBoolean":true}`:                                        "no",
		`"And":[{"Variable":"$.q","IsPresent":true},{"Variable":"$.q","NumericEquals":1}]`: "no",
		`"Or":[{"Variable":"$.n","NumericEquals":2},{"Variable":"$.q","NumericEquals":1}]`: "yes",
		`"Variable":"$.q","NumericEquals":1`:                                               "States.Runtime",
		`"Variable":"$.n","NumericEqualsPath":"$.q"`:                                       "States.Runtime",
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			out := run(t, `{"StartAt":"C","States":{"C":{"Type":"Choice","Choices":[{`+rule+`,"Next":"Y"}],"Default":"N"},
				"Y":{"Type":"Pass","Result":"yes","End":true},"N":{"Type":"Pass","Result":"no","End":true}}}`, input, "")
			if got := string(out.Output); got != `"`+want+`"` && text(out.Error) != want {
				t.Errorf("gives %s (%s), want %s", got, text(out.Error), want)
			}
		})
	}
}
