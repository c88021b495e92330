package digestwriter_test

import (
	"encoding/json"
	"strings"
	"testing"

	digestwriter "github.com/outerloop-dev/outerloop/functions/workers/digest-writer"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

const input = `{"week": "2026-W48", "query": "kites", "found": "2026-11-20", "cached": %, "items": [{"paper": "K-1", "title": "Wind", "authors": ["A"],
	"url": "https://papers.example/k-1", "summary": {"findings": [{"text": "It blows.", "at": "Results, sentence 1"}], "limits": []}}],
	"missing": [{"key": "K-2", "step": "fetch", "cause": "it is no text", "say": ""}]}`

func TestSaysWhenTheSearchWasDown(t *testing.T) {
	t.Parallel()
	for cached, note := range map[string]string{"true": "The search was down: these are the papers found on 2026-11-20.", "false": "Found on 2026-11-20."} {
		o := workertest.Run(t, digestwriter.Worker, json.RawMessage(strings.Replace(input, "%", cached, 1)), workertest.Setup{})
		out := workertest.Output[digestwriter.Output](t, o)
		if out.Note != note || out.Gaps[0] != (digestwriter.Gap{Paper: "K-2", Why: "it is no text"}) {
			t.Errorf("%+v", out)
		}
		html, err := digestwriter.Render(o.Result.Output)
		if err != nil || !strings.Contains(string(html), note) || !strings.Contains(string(html), "K-1, Results, sentence 1") {
			t.Errorf("%v: %s", err, html)
		}
	}
}
