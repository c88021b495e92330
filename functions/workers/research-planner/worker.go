// Package researchplanner is the worker research-planner: it makes subtopics of
// a brief's questions.
package researchplanner

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the worker's input (schemas/input.json).
type Input struct {
	Brief string `json:"brief"`
}

// Topic is one question of the brief.
type Topic struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Question string `json:"question"`
}

// Output is the plan (schemas/output.json).
type Output struct {
	Title     string  `json:"title"`
	Subtopics []Topic `json:"subtopics"`
}

// Worker is research-planner.
var Worker = worker.New("research-planner", 1, plan)

var (
	heading = regexp.MustCompile(`(?m)^#\s+(.+?)\s*$`)
	item    = regexp.MustCompile(`^\s*(?:\d+[.)]|[-*])\s*(.*?)\s*$`)
	joint   = regexp.MustCompile(`[^a-z0-9]+`)
)

func plan(_ context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
	var res worker.Result[Output]
	title := heading.FindStringSubmatch(t.Input.Brief)
	if title == nil {
		return res, worker.MissingInput("the brief has no title: its first line is `# TITLE`")
	}
	res.Output = Output{Title: title[1], Subtopics: []Topic{}}
	seen := map[string]bool{}
	for number, line := range strings.Split(t.Input.Brief, "\n") {
		found := item.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		name, question, asks := strings.Cut(found[1], ":")
		name, question = strings.TrimSpace(name), strings.TrimSpace(question)
		id := strings.Trim(joint.ReplaceAllString(strings.ToLower(name), "-"), "-")
		switch {
		case id == "" || !asks || question == "":
			res.Decisions = append(res.Decisions, fmt.Sprintf("Line %d asks nothing and is left out.", number+1))
		case seen[id]:
			res.Decisions = append(res.Decisions, fmt.Sprintf("Line %d repeats %s and is left out.", number+1, id))
		default:
			seen[id] = true
			res.Output.Subtopics = append(res.Output.Subtopics, Topic{id, name, question})
			res.Evidence = append(res.Evidence, worker.Evidence{Claim: name, Source: "input.brief", At: fmt.Sprintf("line %d", number+1)})
		}
	}
	if len(res.Output.Subtopics) == 0 {
		return res, worker.MissingInput("the brief asks nothing: a question is a line `1. TOPIC: QUESTION`")
	}
	res.Confidence, res.Reason = worker.High, "Every question of the brief is a subtopic."
	return res, nil
}
