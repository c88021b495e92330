package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
	llm "github.com/outerloop-dev/outerloop/pkg/agent"
)

// asWorker tells whether a request is for a worker.
func (d data) asWorker(name string) bool {
	return strings.Contains(d.asked.System, fmt.Sprintf("worker %q", name))
}

type fact struct {
	Text   string `json:"text"`
	Row    int    `json:"row"`
	Column string `json:"column"`
	Value  string `json:"value"`
}

// drafter writes follow-ups as prompts/followup.md asks, and reviews them.
func drafter(d data) llm.Answer {
	if d.asWorker("claim-checker") {
		return said(d, document{"output": document{"unsupported": []any{}, "forbidden": []any{}, "checked": 4}, "reason": "All stands in the row."})
	}
	row := get[struct{ Row int }](d, "input.deal.source").Row
	var facts []fact
	var evidence []document
	tell := func(field, column string) string {
		value := get[string](d, "input.deal."+field)
		if value != "" {
			facts = append(facts, fact{value, row, column, value})
			evidence = append(evidence, document{"claim": value, "source": "input.deal." + field, "at": column})
		}
		return value
	}
	body := fmt.Sprintf("Hello %s,\n\nsome time ago we spoke about %s for %s Our proposal is still open.\n\nWould a short call help you?\n\nBest regards\n%s\n",
		tell("contact", "Contact"), tell("name", "Deal name"), strings.TrimSuffix(tell("company", "Company"), ".")+".", tell("owner", "Owner"))
	body = strings.Replace(body, "Hello ,", "Hello,", 1)
	confidence := "high"
	if get[string](d, "input.deal.contact") == "" || get[int](d, "input.deal.idle_days") > 365 {
		confidence = "medium"
	}
	return said(d, document{
		"output":   document{"subject": "Your project " + get[string](d, "input.deal.name"), "body": body, "discount": 0, "facts": facts},
		"evidence": evidence, "confidence": confidence, "reason": "Every fact stands in the row.",
	})
}

// modelsOf are the workers that asked models in a run.
func (b *bundle) modelsOf(run string) []string {
	b.t.Helper()
	show, _ := b.steps(run)
	var names []string
	models, _ := show["models"].([]any)
	for _, m := range models {
		names = append(names, m.(document)["worker"].(string))
	}
	return names
}

// recipients of all mails, sorted.
func (b *bundle) recipients() []string {
	b.t.Helper()
	var to []string
	for _, mail := range b.outbox() {
		_, after, _ := strings.Cut(mail, "\nTo: ")
		line, _, _ := strings.Cut(after, "\n")
		to = append(to, strings.TrimSpace(line))
	}
	slices.Sort(to)
	return to
}

// S1 with a model as drafter: the same loop, machine, limits and reviewer, and so
// the same contacts. The run keeps its model when another command drives it on (R56).
func TestFollowUpsByAModel(t *testing.T) {
	t.Parallel()
	b, code := setup(t), setup(t)
	s := served(t, drafter)
	b.run(cli.ExitWaiting, "--model", "openai:"+s.URL+"#small-1", "--model-price", "1.00/4.00").
		has(t, "followup-writer asks chosen-model (small-1)")
	code.run(cli.ExitWaiting)
	if got := b.modelsOf(b.newest()); !slices.Equal(got, []string{"followup-writer"}) {
		t.Errorf("%v asked the model; the reviewer is code", got)
	}
	asks := 0 // the code's mails with a large discount wait for a person; the model offers none
	for _, waiting := range list(t, code.want(0, "approvals", "-o", "json").out) {
		if strings.Contains(fmt.Sprint(waiting["reasons"]), "over 10 %") {
			asks++
		}
	}
	if by, want := b.recipients(), code.recipients(); len(want) == 0 || len(by) > len(want)+asks || slices.ContainsFunc(want, func(to string) bool { return !slices.Contains(by, to) }) {
		t.Errorf("the model's run sent %d mails, the code's %d and asks about %d", len(by), len(want), asks)
	}
	asked := len(s.Requests())
	for _, waiting := range list(t, b.want(0, "approvals", "-o", "json").out) {
		if strings.HasSuffix(waiting["step"].(string), "/qualify") {
			b.want(0, "approve", waiting["id"].(string), "--by", "me@example.com", "--reason", "worth it")
			break
		}
	}
	if len(s.Requests()) == asked {
		t.Error("the deal that a person let pass was not drafted by the run's model")
	}
}

// firstRows shortens the export.
func (b *bundle) firstRows(n int) {
	b.t.Helper()
	file := filepath.Join(b.dir, "exports/crm.csv")
	content, err := os.ReadFile(file)
	if err != nil {
		b.t.Fatal(err)
	}
	rows := bytes.SplitAfterN(content, []byte("\n"), n+1)
	if err := os.WriteFile(file, bytes.Join(rows[:min(n, len(rows))], nil), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// S1 with models as drafter and reviewer, of a small export.
func TestFollowUpsReviewedByAModel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.firstRows(300)
	s := served(t, drafter)
	b.run(cli.ExitWaiting, "--model", "openai:"+s.URL, "--model-price", "0/0", "--model-for", "followup-writer,claim-checker")
	if got := b.modelsOf(b.newest()); !slices.Equal(got, []string{"claim-checker", "followup-writer"}) {
		t.Errorf("%v asked the model", got)
	}
	if len(b.outbox()) == 0 {
		t.Error("no mail was sent")
	}
	for _, seen := range s.Requests() { // a reviewer gets rubric and sources, not the author's reasoning (R47)
		d := spoken(t, seen)
		if text := d.asked.Messages[0].Text + d.asked.System; d.asWorker("claim-checker") && strings.Contains(text, "Every fact stands in the row.") {
			t.Fatalf("the reviewer was told the author's reason:\n%s", text)
		}
	}
	b.want(cli.ExitUsage, "run", "crm-followup", "--input", "exports/crm.csv", "--model", "openai:"+s.URL, "--model-price", "0/0", "--model-for", "mailer").
		has(t, "no model can do the work", "followup-writer")
}

// campaigner does S4's strategy and draft; its first draft has a figure of its own.
func campaigner(d data) llm.Answer {
	if d.asWorker("strategist") {
		links := get[[]document](d, "input.links")
		for _, p := range get[[]document](d, "input.phrases") {
			of := slices.DeleteFunc(slices.Clone(links), func(l document) bool { return l["topic"] != p["topic"] })
			if len(of) > 0 {
				return said(d, document{
					"output":   document{"angles": []document{{"topic": p["topic"], "headline": of[0]["claim"], "why": "Most speak of it.", "links": of, "quotes": p["quotes"]}}},
					"evidence": []document{{"claim": of[0]["claim"], "source": "input.links", "at": of[0]["id"]}}, "reason": "Most speak of it.",
				})
			}
		}
	}
	angle, brand := get[document](d, "input.angle"), get[document](d, "input.brand")
	link := angle["links"].([]any)[0].(document)
	claim := link["claim"].(string)
	body := claim
	if len(d.blocks["feedback"]) == 0 {
		body += " It saves 97 hours."
	}
	return said(d, document{
		"output": document{
			"email":   document{"headline": angle["headline"], "body": fmt.Sprintf("%s\n\n%s\n%s", body, brand["call"], brand["sign_off"])},
			"landing": document{"headline": brand["product"], "body": fmt.Sprintf("%s\n\n%s", claim, brand["call"])},
			"posts":   []string{claim, fmt.Sprint(claim, " ", link["url"]), fmt.Sprint(brand["call"])},
			"claims":  []document{{"text": claim, "source": link["id"]}}, "quotes": []string{},
		},
		"evidence": []document{{"claim": claim, "source": "input.angle", "at": link["id"]}}, "reason": "The claim is a source's own.",
	})
}

// S4 by a model: the code's review sends an invented figure back, once (R7, R27).
func TestWeeklyCampaignByAModel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := served(t, campaigner)
	b.want(0, "run", "campaign-desk", "--as-of", "2026-11-30")
	b.want(0, "run", "weekly-campaign", "--as-of", "2026-11-30", "--model", "openai:"+s.URL, "--model-price", "3.00/15.00")
	if got := b.modelsOf(b.newest()); !slices.Equal(got, []string{"campaign-writer", "strategist"}) {
		t.Errorf("%v asked the model", got)
	}
	_, steps := b.steps(b.newest())
	if tries := number(steps["draft"], "attempts"); tries != 2 {
		t.Errorf("the draft took %v attempts, want 2", tries)
	}
	if filed := b.assets(); len(filed) != 1 || strings.Contains(filed[0], "97") {
		t.Errorf("filed %v", filed)
	}
}
