package agent_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

const mailSchema = `{
	"type": "object", "additionalProperties": false, "required": ["subject", "count", "kind"],
	"properties": {
		"subject": {"type": "string"},
		"count": {"type": "integer"},
		"share": {"type": "number"},
		"kind": {"enum": ["first", "reminder"]},
		"parts": {"type": "array", "items": {"$ref": "#/$defs/part"}}
	},
	"$defs": {"part": {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}, "parts": {"$ref": "#/properties/parts"}}}}
}`

func mailForm(t testing.TB) *agent.AnswerForm {
	t.Helper()
	f, err := agent.NewForm("mail", json.RawMessage(mailSchema))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// framed is an answer around an output.
func framed(output string) string {
	return `{"output": ` + output + `, "confidence": "high", "reason": "Simple.", "evidence": [], "decisions": [], "unresolved": []}`
}

const goodOutput = `{"subject": "Hello {you}", "count": 42, "kind": "first"}`

var good = framed(goodOutput)

// R18, PITFALLS "Model output": what is accepted, and with which repair.
func TestReadAccepts(t *testing.T) {
	t.Parallel()
	fence := "```"
	for name, c := range map[string]struct {
		text    string
		output  string
		repairs []agent.Repair
	}{
		"plain":                  {text: good},
		"white space":            {text: "\n\n  " + good + "\n"},
		"byte order mark":        {text: "\uFEFF" + good},
		"one fence":              {text: fence + "json\n" + good + "\n" + fence, repairs: []agent.Repair{agent.RepairFence}},
		"one fence, no tag":      {text: fence + "\n" + good + "\n" + fence + "\n", repairs: []agent.Repair{agent.RepairFence}},
		"fence, CRLF":            {text: fence + "json\r\n" + good + "\r\n" + fence, repairs: []agent.Repair{agent.RepairFence}},
		"prose before":           {text: "Here is the answer:\n" + good, repairs: []agent.Repair{agent.RepairProse}},
		"prose after":            {text: good + "\nLet me know if you need more!", repairs: []agent.Repair{agent.RepairProse}},
		"prose and fence":        {text: "Sure.\n" + fence + "json\n" + good + "\n" + fence + "\nDone.", repairs: []agent.Repair{agent.RepairProse}},
		"braces in prose":        {text: "I filled {subject} as asked [1]:\n" + good, repairs: []agent.Repair{agent.RepairProse}},
		"quote mark in prose":    {text: "It's 5\" wide.\n" + good, repairs: []agent.Repair{agent.RepairProse}},
		"other language first":   {text: fence + "python\nprint({\"subject\": 1})\n" + fence + "\n" + fence + "json\n" + good + "\n" + fence, repairs: []agent.Repair{agent.RepairProse}},
		"reasoning":              {text: "<think>\nMaybe {\"subject\": \"x\"}?\n</think>\n" + good, repairs: []agent.Repair{agent.RepairReasoning}},
		"typographic quotes":     {text: strings.ReplaceAll(good, `"`, "”"), repairs: []agent.Repair{agent.RepairQuotes}},
		"back-ticks in a string": {text: framed(`{"subject": "a\n` + fence + `json\n{}\n` + fence + `", "count": 1, "kind": "first"}`), output: `{"subject": "a\n` + fence + `json\n{}\n` + fence + `", "count": 1, "kind": "first"}`},
		"back-ticks, fenced":     {text: fence + "json\n" + framed(`{"subject": "`+fence+`", "count": 1, "kind": "first"}`) + "\n" + fence, output: `{"subject": "` + fence + `", "count": 1, "kind": "first"}`, repairs: []agent.Repair{agent.RepairFence}},
		"quotes in a string":     {text: framed(`{"subject": "the “big” one", "count": 1, "kind": "first"}`), output: `{"subject": "the “big” one", "count": 1, "kind": "first"}`},
		"nested definitions":     {text: framed(`{"subject": "s", "count": 1, "kind": "first", "parts": [{"text": "a", "parts": [{"text": "b"}]}]}`), output: `{"subject": "s", "count": 1, "kind": "first", "parts": [{"text": "a", "parts": [{"text": "b"}]}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work, reading, err := mailForm(t).Read(agent.Answer{Text: c.text, Stop: agent.StopEnd})
			if err != nil {
				t.Fatal(err)
			}
			want := c.output
			if want == "" {
				want = goodOutput
			}
			if diff := cmp.Diff(decoded(t, want), decoded(t, string(work.Output))); diff != "" {
				t.Error(diff)
			}
			if !slices.Equal(reading.Repairs, c.repairs) || len(reading.Coercions) > 0 {
				t.Errorf("repairs %q, coercions %v", reading.Repairs, reading.Coercions)
			}
			if work.Confidence != outerloop.ConfidenceHigh || work.Reason != "Simple." {
				t.Errorf("the frame was read as %+v", work)
			}
		})
	}
}

func decoded(t testing.TB, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// R18: what is not accepted, and what the model is told. Nothing is guessed and
// no part of an answer is taken.
func TestReadRefuses(t *testing.T) {
	t.Parallel()
	fence := "```"
	huge := strings.Repeat("9", 200)
	for name, c := range map[string]struct{ text, says string }{
		"nothing":                  {"", "is empty"},
		"a refusal in words":       {"I'm sorry, I can't help with that.", "holds no JSON object"},
		"cut off":                  {good[:len(good)-20], "cut off"},
		"cut off in a fence":       {fence + "json\n" + good[:40], "cut off"},
		"cut off after an object":  {`{"output": {"subject": "s", "count": 1, "kind": "first"}, "conf`, "cut off"},
		"begun again":              {good + "\n{ and so on", "cut off"},
		"only the end":             {goodOutput[len(goodOutput)-12:] + `, "reason": "x"}`, "does not begin"},
		"two objects":              {good + "\n" + good, "holds 2 JSON documents"},
		"a broken one, then one":   {`{"output": 1, "output": 2} ` + good, "appears twice"},
		"single quotes":            {strings.ReplaceAll(good, `"`, `'`), "holds no JSON object"},
		"mixed quotes":             {strings.Replace(good, `"output"`, "“output”", 1), "double quotes"},
		"NaN":                      {framed(`{"subject": "s", "count": 1, "share": NaN, "kind": "first"}`), "NaN is not a JSON number"},
		"Infinity":                 {framed(`{"subject": "s", "count": 1, "share": -Infinity, "kind": "first"}`), "Infinity is not a JSON number"},
		"a 200-digit integer":      {framed(`{"subject": "s", "count": ` + huge + `, "kind": "first"}`), "/output/count is outside the range"},
		"the same in quotes":       {framed(`{"subject": "s", "count": "` + huge + `", "kind": "first"}`), "/output/count must be an integer"},
		"duplicate keys":           {framed(`{"subject": "s", "count": 1, "count": 2, "kind": "first"}`), "/output/count appears twice"},
		"an extra field":           {framed(`{"subject": "s", "count": 1, "kind": "first", "subjcet": "t"}`), `is not a known field. Did you mean "subject"?`},
		"an extra field outside":   {strings.Replace(good, `"reason"`, `"why": 1, "reason"`, 1), "/why is not a known field"},
		"a near enum":              {framed(`{"subject": "s", "count": 1, "kind": "First"}`), `/output/kind must be one of "first", "reminder"`},
		"a near confidence":        {strings.Replace(good, `"high"`, `"High"`, 1), "/confidence must be one of"},
		"no frame":                 {goodOutput, "/output is required, but missing"},
		"half a number":            {framed(`{"subject": "s", "count": "4.5", "kind": "first"}`), "/output/count must be an integer"},
		"words for a number":       {framed(`{"subject": "s", "count": "four", "kind": "first"}`), "/output/count must be an integer"},
		"null":                     {framed(`{"subject": null, "count": 1, "kind": "first"}`), "/output/subject must be a string"},
		"in a list":                {"[" + good + "]", "must be an object"},
		"as text":                  {`"{\"output\": 1}"`, "must be an object"},
		"trailing comma":           {`{"output": 1,}`, "expected a key"},
		"a comment":                {"{\"output\": 1, // one\n\"confidence\": \"high\"}", "expected a key"},
		"deep nesting":             {strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200), "nests deeper"},
		"a control character":      {"{\"output\": \"a\nb\"}", "control character"},
		"not UTF-8":                {"{\"output\": \"\xff\"}", "not valid UTF-8"},
		"too long":                 {strings.Repeat(" x", 1<<20), "is longer than"},
		"only another language":    {fence + "python\n{\"output\": 1}\n" + fence, "holds no JSON object"},
		"reasoning without an end": {"<think> hm {\"a\": ", "cut off"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work, _, err := mailForm(t).Read(agent.Answer{Text: c.text, Stop: agent.StopEnd})
			if err == nil {
				t.Fatalf("accepted as %s", work.Output)
			}
			if worker.FailureOf(err).Class != outerloop.ClassInvalidOutput || len(agent.Faults(err)) == 0 {
				t.Errorf("class %s, faults %v", worker.FailureOf(err).Class, agent.Faults(err))
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("it says: %s\nwithout: %s", err, c.says)
			}
			if work.Output != nil {
				t.Errorf("a part was given: %s", work.Output)
			}
		})
	}
}

// R18: numbers as strings are read as numbers where the schema says so, and logged.
func TestReadCoercesAndSaysSo(t *testing.T) {
	t.Parallel()
	work, reading, err := mailForm(t).Read(agent.Answer{Stop: agent.StopEnd, Text: framed(`{"subject": 7, "count": "42", "share": " 0.5 ", "kind": "first"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decoded(t, `{"subject": "7", "count": 42, "share": 0.5, "kind": "first"}`), decoded(t, string(work.Output))); diff != "" {
		t.Error(diff)
	}
	var paths []string
	for _, c := range reading.Coercions {
		paths = append(paths, c.Path)
	}
	if want := []string{"/output/count", "/output/share", "/output/subject"}; !slices.Equal(paths, want) {
		t.Errorf("logged %v, want %v", paths, want)
	}
}

func TestReadBelievesTheProvider(t *testing.T) {
	t.Parallel()
	for stop, class := range map[agent.Stop]outerloop.Class{
		agent.StopLength:    outerloop.ClassInvalidOutput,
		agent.StopMalformed: outerloop.ClassInvalidOutput,
		agent.StopFiltered:  outerloop.ClassRefused,
		agent.StopRefused:   outerloop.ClassRefused,
	} {
		if _, _, err := mailForm(t).Read(agent.Answer{Text: good, Stop: stop}); worker.FailureOf(err).Class != class {
			t.Errorf("%s: %v", stop, err)
		}
	}
}

// No beginning of an answer, cut anywhere, is read as something else than the
// whole.
func TestReadTakesNoPart(t *testing.T) {
	t.Parallel()
	form, want := mailForm(t), decoded(t, goodOutput)
	for _, text := range []string{good, "Here:\n```json\n" + good + "\n```\nDone.", "<think>so</think>" + good} {
		for cut := range text {
			for _, part := range []string{text[:cut], text[cut:]} {
				work, _, err := form.Read(agent.Answer{Text: part, Stop: agent.StopEnd})
				if err == nil && !cmp.Equal(want, decoded(t, string(work.Output))) {
					t.Fatalf("%q was read as %s", part, work.Output)
				}
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{good, "```json\n" + good + "\n```", "x {y} " + good, "<think>{</think>" + good, "[1] “{", `{"output":"\ud800"}`} {
		f.Add(text)
	}
	form := mailForm(f)
	f.Fuzz(func(t *testing.T, text string) {
		work, _, err := form.Read(agent.Answer{Text: text, Stop: agent.StopEnd})
		if err != nil {
			if work.Output != nil || len(agent.Faults(err)) == 0 {
				t.Fatalf("%q: %v with %s", text, err, work.Output)
			}
			return
		}
		again, reading, err := form.Read(agent.Answer{Text: framed(string(work.Output)), Stop: agent.StopEnd})
		if err != nil || len(reading.Repairs) > 0 || !cmp.Equal(decoded(t, string(again.Output)), decoded(t, string(work.Output))) {
			t.Fatalf("%q: the output %s is not valid by itself: %v", text, work.Output, err)
		}
	})
}
