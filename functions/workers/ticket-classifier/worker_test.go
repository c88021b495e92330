package ticketclassifier_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	ticketclassifier "github.com/outerloop-dev/outerloop/functions/workers/ticket-classifier"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func classify(t *testing.T, text string) (ticketclassifier.Output, workertest.Outcome) {
	t.Helper()
	o := workertest.Run(t, ticketclassifier.Worker, ticketclassifier.Input{Text: text}, workertest.Setup{})
	return workertest.Output[ticketclassifier.Output](t, o), o
}

// lines decodes a file of JSON lines.
func lines[T any](t *testing.T, file string) []T {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []T
	for s := bufio.NewScanner(f); s.Scan(); {
		var v T
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// What the classifier is sure of must be what people said of the same requests
// (labels.jsonl), in 9 of 10 cases; no unhappy customer may be missed.
func TestAgreesWithPeople(t *testing.T) {
	t.Parallel()
	labels := map[string]struct {
		Type     string `json:"type"`
		Negative bool   `json:"negative"`
	}{}
	for _, l := range lines[struct {
		Message  string `json:"message"`
		Type     string `json:"type"`
		Negative bool   `json:"negative"`
	}](t, "../../../samples/support-triage/labels.jsonl") {
		labels[l.Message] = struct {
			Type     string `json:"type"`
			Negative bool   `json:"negative"`
		}{l.Type, l.Negative}
	}
	sure, right := 0, 0
	for _, m := range lines[struct{ Message, Text string }](t, "../../../samples/support-triage/requests.jsonl") {
		out, o := classify(t, m.Text)
		want := labels[m.Message]
		if (out.Sentiment == "negative") != want.Negative {
			t.Errorf("%s is %s: %s", m.Message, out.Sentiment, m.Text)
		}
		if o.Result.Confidence != worker.High {
			continue
		}
		sure++
		if out.Type == want.Type {
			right++
		} else {
			t.Logf("%s is %s, people say %s: %s", m.Message, out.Type, want.Type, m.Text)
		}
	}
	if sure < 35 || right*10 < sure*9 {
		t.Errorf("sure of %d, right in %d", sure, right)
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		ticketclassifier.Output
		confidence worker.Confidence
	}{
		"my invoice is wrong":                                {ticketclassifier.Output{Type: "billing", Sentiment: "neutral", Risk: "low", Urgency: "normal"}, worker.High},
		"> the invoice\n> payment\nError 500, urgent!":       {ticketclassifier.Output{Type: "technical", Sentiment: "neutral", Risk: "low", Urgency: "high"}, worker.High},
		"Our lawyer says hello\n-- \nInvoice & Payment GmbH": {ticketclassifier.Output{Type: "general", Sentiment: "neutral", Risk: "high", Urgency: "normal"}, worker.High},
		"invoice error":                                      {ticketclassifier.Output{Type: "billing", Sentiment: "neutral", Risk: "low", Urgency: "normal"}, worker.Medium},
		"<b>worst</b> service, thanks for nothing, useless":  {ticketclassifier.Output{Type: "general", Sentiment: "negative", Risk: "low", Urgency: "normal"}, worker.Low},
		"terror, invoiced, capital":                          {ticketclassifier.Output{Type: "general", Sentiment: "neutral", Risk: "low", Urgency: "normal"}, worker.Low},
		"":                                                   {ticketclassifier.Output{Type: "general", Sentiment: "neutral", Risk: "low", Urgency: "normal"}, worker.Low},
	} {
		out, o := classify(t, text)
		if out != want.Output || o.Result.Confidence != want.confidence || len(o.Result.Evidence) == 0 {
			t.Errorf("%q: %+v, %s (%s)", text, out, o.Result.Confidence, o.Result.Reason)
		}
	}
}
