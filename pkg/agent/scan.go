package agent

import (
	"strings"
)

// Repair is one thing that was put right in an answer before it was read.
type Repair string

// The repairs. None of them changes a value.
const (
	// RepairReasoning: a block of reasoning before the answer was left out.
	RepairReasoning Repair = "left out the reasoning before the answer"
	// RepairFence: the fence around the whole message was taken off.
	RepairFence Repair = "took the fence off the answer"
	// RepairProse: text around the one JSON object was left out.
	RepairProse Repair = "left out the text around the JSON object"
	// RepairQuotes: typographic quotes stood for all of JSON's quotes.
	RepairQuotes Repair = "replaced typographic quotes by straight ones"
)

const fenceMark = "```"

// withoutReasoning leaves out one block <think>…</think> at the very start, as
// local servers pass it on.
func withoutReasoning(text string) (string, bool) {
	if !strings.HasPrefix(text, "<think>") {
		return text, false
	}
	_, rest, found := strings.Cut(text, "</think>")
	if !found {
		return text, false
	}
	return strings.TrimSpace(rest), true
}

// unfenced takes off one fence that encloses the whole message. Inside of JSON
// no line can begin with a fence, since strings hold no line ends.
func unfenced(text string) (string, bool) {
	lines := strings.Split(text, "\n")
	last := len(lines) - 1
	if last < 2 || !isFence(lines[0]) || strings.TrimSpace(lines[last]) != fenceMark {
		return text, false
	}
	for _, line := range lines[1:last] {
		if isFence(line) {
			return text, false
		}
	}
	if tag := fenceTag(lines[0]); tag != "" && !isJSONTag(tag) {
		return text, false
	}
	return strings.TrimSpace(strings.Join(lines[1:last], "\n")), true
}

func isFence(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), fenceMark) }

func fenceTag(line string) string {
	return strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "`"))
}

func isJSONTag(tag string) bool {
	return strings.EqualFold(tag, "json") || strings.EqualFold(tag, "jsonc") || strings.EqualFold(tag, "json5")
}

// withoutOtherFences leaves out fenced blocks that say they are in another language.
func withoutOtherFences(text string) string {
	var kept []string
	inside, skip := false, false
	for _, line := range strings.Split(text, "\n") {
		if isFence(line) {
			if !inside {
				tag := fenceTag(line)
				skip = tag != "" && !isJSONTag(tag)
			}
			inside = !inside
			continue
		}
		if !inside || !skip {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// group is a balanced run of brackets in a text, from the first to its match.
type group struct {
	text string
	// open: the text ended before the match.
	open bool
}

// looksLikeJSON tells a JSON object, right or wrong, from {braces} in prose.
func (g group) looksLikeJSON() bool {
	inner := strings.TrimLeft(g.text[1:], " \t\r\n")
	return g.text[0] == '[' || strings.HasPrefix(inner, `"`) || strings.HasPrefix(inner, "“") || strings.HasPrefix(inner, "}")
}

// groups finds the outermost balanced { } and [ ] of a text. Quotes count
// inside of them only: prose may hold any. stray: a } closes nothing, so the
// text is the end of something.
func groups(text string) (found []group, stray bool) {
	depth, start, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"' && depth > 0:
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth == 0 {
				start = i
			}
			depth++
		case (c == '}' || c == ']') && depth > 0:
			if depth--; depth == 0 {
				found = append(found, group{text: text[start : i+1]})
			}
		case c == '}':
			stray = true
		}
	}
	if depth > 0 {
		found = append(found, group{text: text[start:], open: true})
	}
	return found, stray
}

// straightened replaces typographic quotes where they are the only double
// quotes, so that they must be JSON's.
func straightened(text string) (string, bool) {
	if strings.Contains(text, `"`) || !strings.ContainsAny(text, "“”„‟") {
		return text, false
	}
	return strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "‟", `"`).Replace(text), true
}
