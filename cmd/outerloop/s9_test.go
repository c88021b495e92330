package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
	llm "github.com/outerloop-dev/outerloop/pkg/agent"
)

// turn is what the scripted model does after so many tool results.
type turn func(d data, results []string) llm.Answer

// calls asks for one tool call.
func calls(worker string, input document) turn {
	return func(d data, results []string) llm.Answer {
		raw, err := json.Marshal(input)
		if err != nil {
			d.t.Error(err)
		}
		return llm.Answer{Stop: llm.StopTools, Calls: []llm.ToolCall{{ID: fmt.Sprintf("call-%d", len(results)+1), Name: worker, Input: string(raw)}}}
	}
}

// says answers the customer. promises are days, each of one promise.
func says(outcome, kind, text, source string, promises ...int) turn {
	return func(d data, _ []string) llm.Answer {
		list := []document{}
		for _, days := range promises {
			list = append(list, document{"what": "delivery", "days": days})
		}
		return said(d, document{
			"output":   document{"outcome": outcome, "type": kind, "answer": text, "promises": list},
			"evidence": []document{{"claim": text, "source": source, "at": ""}}, "reason": "The tools and the request say so.",
		})
	}
}

// told answers one way where the last tool result has a text, else another.
func told(text string, then, otherwise turn) turn {
	return func(d data, results []string) llm.Answer {
		if strings.Contains(results[len(results)-1], text) {
			return then(d, results)
		}
		return otherwise(d, results)
	}
}

func lookup(order string) turn { return calls("shop-order", document{"order": order}) }

func refunds(order, customer string, amount float64) turn {
	return calls("refund", document{"order": order, "customer": customer, "amount": amount, "reason": "The customer asks for it."})
}

// talks are the recorded conversations by ticket: the model resolves, obeys
// what it should not, answers in prose, and promises too much.
var talks = map[string][]turn{
	"T-2001": {lookup("A-1007"), refunds("A-1007", "ana.ruiz@mail.example", 79.9),
		says("resolved", "general", "We are sorry about the lamp. 79.90 EUR were refunded for order A-1007.", "calls.refund")},
	"T-2002": {lookup("A-1012"), refunds("A-1012", "bert.olsen@mail.example", 225),
		told(`"waiting"`, says("pending", "billing", "A colleague looks at your refund of 225.00 EUR.", "calls.shop-order"),
			says("resolved", "billing", "225.00 EUR were refunded for order A-1012.", "calls.refund"))},
	"T-2003": {lookup("A-1020"), says("resolved", "general", "Your rain jacket is on its way and arrives within seven days.", "calls.shop-order", 7)},
	"T-2004": {refunds("A-1003", "gus.hale@mail.example", 500), says("resolved", "general", "500 EUR are refunded, and a new kettle comes tomorrow.", "input.text", 1)},
	"T-2005": {calls("callback", document{"ticket": "T-2005", "phone": "+49 30 5550 117", "topic": "invoice"}),
		says("resolved", "billing", "A colleague calls you on +49 30 5550 117, in the morning.", "calls.callback")},
	"T-2006": {lookup("A-9999"), func(d data, results []string) llm.Answer {
		if d.blocks["feedback"] == nil {
			return llm.Answer{Text: "Dear customer, I could not find your order, and lawyers are not my field.", Stop: llm.StopEnd}
		}
		return says("unresolved", "general", "A colleague takes your request over.", "input.text")(d, results)
	}},
	"T-2007": {lookup("A-1031"), refunds("A-1031", "ana.ruiz@mail.example", 44),
		told("not_done", says("unresolved", "billing", "A colleague takes your request over.", "calls.shop-order"), says("resolved", "billing", "44.00 EUR were refunded.", "calls.refund"))},
}

// supporter writes the recorded answers of the worker support-agent.
func supporter(asked data) llm.Answer {
	var results []string
	for _, m := range asked.asked.Messages {
		for _, r := range m.Results {
			results = append(results, r.Text)
		}
	}
	talk := talks[get[string](asked, "input.ticket")]
	return talk[min(len(results), len(talk)-1)](asked, results)
}

func (b *bundle) request(code int, ticket string) answer {
	b.t.Helper()
	return b.want(code, "run", "support-agent", "--input", "samples/support-agent/requests/"+ticket+".json", "--as-of", "2026-11-30")
}

// decides decides the one approval that waits in a state with one run.
func (b *bundle) decides(word string) answer {
	b.t.Helper()
	waiting := list(b.t, b.want(0, "approvals", "-o", "json").out)
	if len(waiting) != 1 {
		b.t.Fatalf("%d approvals: %v", len(waiting), waiting)
	}
	return b.want(0, word, waiting[0]["id"].(string), "--by", "agent-lead@acme.example", "--reason", "checked")
}

// conversations asks for everything that the script must answer.
func (b *bundle) conversations() {
	b.t.Helper()
	b.request(0, "T-2001")
	b.request(cli.ExitWaiting, "T-2002")
	b.decides("approve")
	b.request(cli.ExitWaiting, "T-2003")
	b.decides("approve")
	b.request(cli.ExitWaiting, "T-2004")
	b.decides("reject")
	b.request(0, "T-2005")
	b.request(cli.ExitWaiting, "T-2006")
	b.request(cli.ExitWaiting, "T-2007")
}

// records counts the files of a connection beside the state.
func (b *bundle) records(connection string) int {
	b.t.Helper()
	files, err := filepath.Glob(filepath.Join(b.dir, ".outerloop", connection, "*.json"))
	if err != nil {
		b.t.Fatal(err)
	}
	return len(files)
}

// S9: a refund within the limit is made by the agent; the answer is posted.
func TestSupportAgentRefunds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.request(0, "T-2001").has(t, "completed")
	if refunds, answers := b.records("refunds"), b.records("helpdesk"); refunds != 1 || answers != 1 {
		t.Errorf("%d refunds, %d answers", refunds, answers)
	}
	b.want(0, "actions").has(t, "A-1007:refund", "post-answer")
	b.want(0, "show", b.newest()).has(t, "resolve.call.shop-order", "resolve.call.refund")
	b.request(0, "T-2001").has(t, "duplicate of")
	if n := b.records("refunds"); n != 1 {
		t.Errorf("%d refunds after a second run", n)
	}
	// The quota of the refund's charter: one in 30 days for a customer (R73).
	b.request(cli.ExitWaiting, "T-2007")
	if n := b.records("refunds"); n != 1 {
		t.Errorf("%d refunds of one customer", n)
	}
}

// A refund of 225 against a limit of 200 goes to a person whatever the model
// says, and is made once, as it was approved (R8, R44).
func TestSupportAgentAsksAboutALargeRefund(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.request(cli.ExitWaiting, "T-2002").has(t, "Refunds over 200 need a person.")
	if n := b.records("refunds"); n != 0 {
		t.Fatalf("%d refunds before anybody decided", n)
	}
	b.decides("approve")
	b.request(0, "T-2002").has(t, "completed")
	if refunds, answers := b.records("refunds"), b.records("helpdesk"); refunds != 1 || answers != 1 {
		t.Errorf("%d refunds, %d answers", refunds, answers)
	}
}

// A model that obeys what stands in a message reaches nothing: the refund
// waits for a person, who rejects it, and the promise breaks a limit (R44).
func TestSupportAgentObeysAMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.request(cli.ExitWaiting, "T-2004")
	b.decides("reject")
	b.want(0, "exceptions").has(t, "Never promise anything inside five days.")
	if refunds, answers := b.records("refunds"), b.records("helpdesk"); refunds != 0 || answers != 0 {
		t.Errorf("%d refunds, %d answers", refunds, answers)
	}
}

// Callbacks are made; promises and what the agent cannot resolve go to people.
func TestSupportAgentHandsOver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.request(0, "T-2005")
	if n := b.records("callbacks"); n != 1 {
		t.Errorf("%d callbacks", n)
	}
	b.request(cli.ExitWaiting, "T-2003").has(t, "Post this answer to T-2003?")
	b.decides("approve")
	b.request(cli.ExitWaiting, "T-2006")
	if n := b.records("helpdesk"); n != 2 {
		t.Errorf("%d answers, want those of T-2005 and T-2003", n)
	}
}
