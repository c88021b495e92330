// Package answer finds the approved article that fits a request. Articles are
// written by people; nothing is written anew.
package answer

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode"

	"github.com/outerloop-dev/outerloop/functions/workers/internal/folder"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Input is the input of every worker that answers.
type Input struct {
	Text     string `json:"text"`
	Customer string `json:"customer"`
}

// Output is the answer.
type Output struct {
	Text    string `json:"text"`
	Article string `json:"article"`
}

// Article is an approved answer and the words that call for it.
type Article struct {
	ID     string   `json:"id"`
	Words  []string `json:"words"`
	Answer string   `json:"answer"`
}

// Connection is where the articles are, one file for each subject.
const Connection = "knowledge"

// enough is how many of an article's words make it fit beyond doubt.
const enough = 2

// From is the function of a worker that answers from the articles of some
// subjects. One word is a guess, of low confidence; none is refused.
func From(subjects ...string) worker.Func[Input, Output] {
	return func(_ context.Context, t worker.Task[Input]) (worker.Result[Output], error) {
		var res worker.Result[Output]
		knowledge, err := folder.Of(t.Connection(Connection))
		if err != nil {
			return res, err
		}
		text := Plain(t.Input.Text)
		var best []string
		for _, subject := range subjects {
			content, err := knowledge.Read(subject + ".json")
			if err != nil {
				return res, worker.Transient("%w", err)
			}
			var articles []Article
			if err := json.Unmarshal(content, &articles); err != nil {
				return res, worker.Fatal("reading %s.json: %w", subject, err)
			}
			for _, a := range articles {
				if hits := Words(text, a.Words); len(hits) > len(best) {
					best, res.Output = hits, Output{a.Answer, subject + "/" + a.ID}
				}
			}
		}
		if len(best) == 0 {
			return res, worker.Refused("no approved article fits")
		}
		res.Evidence = []worker.Evidence{{Claim: "The request says " + strings.Join(best, ", "), Source: "input.text", At: res.Output.Article}}
		res.Confidence, res.Reason = worker.Low, "One word only calls for this article."
		if len(best) >= enough {
			res.Confidence, res.Reason = worker.High, fmt.Sprintf("%d words call for this article.", len(best))
		}
		return res, nil
	}
}

var (
	tag       = regexp.MustCompile(`<[^>]*>`)
	signature = regexp.MustCompile(`(?m)^-- ?$`)
)

// Plain is what the writer of a mail says now: without markup, quoted text and
// signature, in lower case.
func Plain(text string) string {
	text = html.UnescapeString(tag.ReplaceAllString(text, " "))
	if at := signature.FindStringIndex(text); at != nil {
		text = text[:at[0]]
	}
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(strings.TrimSpace(line), ">") {
			lines = append(lines, line)
		}
	}
	return strings.ToLower(strings.Join(lines, "\n"))
}

// Words are those of a list that stand in a plain text as whole words.
func Words(text string, list []string) []string {
	var found []string
	for _, word := range list {
		for from := 0; ; {
			i := strings.Index(text[from:], word)
			if i < 0 {
				break
			}
			start, end := from+i, from+i+len(word)
			if !inWord(text[:start], true) && !inWord(text[end:], false) {
				found = append(found, word)
				break
			}
			from = end
		}
	}
	return found
}

// inWord tells whether a text ends, or begins, with a letter or digit.
func inWord(text string, last bool) bool {
	runes := []rune(text)
	if len(runes) == 0 {
		return false
	}
	r := runes[0]
	if last {
		r = runes[len(runes)-1]
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}
