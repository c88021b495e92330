package agent_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/agent/scripted"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

// An exchange reads an answer strictly and prices it.
func ExampleExchange() {
	model := scripted.Func(func(context.Context, agent.Request) (agent.Answer, error) {
		return agent.Answer{
			Text: "```json\n" + `{"output": {"total": "42"}, "confidence": "high", "reason": "It is stated.",
				"evidence": [{"claim": "42", "source": "input.invoice", "at": ""}], "decisions": [], "unresolved": []}` + "\n```",
			Stop: agent.StopEnd, Usage: gate.Tokens{Input: 1000, Output: 100, Model: "small-1"},
		}, nil
	})
	form, _ := agent.NewForm("invoice-reader", json.RawMessage(`{"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}`))
	prompt, _ := agent.ParsePrompt("Read the total of ${input.invoice}.")
	rendered, _ := prompt.Render(form, agent.Brief{Worker: "invoice-reader", Input: json.RawMessage(`{"invoice": "Total: 42 EUR"}`)})
	price := agent.Price{Input: 3_000_000, Output: 15_000_000, Currency: "USD", AsOf: "2026-11-01"}

	report, err := agent.Exchange{Model: model, Price: price, Form: form, MaxTokens: 200, Budget: 20_000}.Run(context.Background(), rendered)
	fmt.Println(string(report.Work.Output), report.Cost, err)
	fmt.Println(report.Reading.Repairs[0])
	fmt.Println(report.Reading.Coercions[0].Path, "was a", report.Reading.Coercions[0].From)
	// Output:
	// {"total":42} 4500 <nil>
	// took the fence off the answer
	// /output/total was a string
}
