package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Prompt is the text of an agent's instructions, read once. In it, ${input.FIELD}
// and ${facts.NAME} stand for data that comes with the task; what is not named
// there is not sent (R20). A prompt that names nothing gets the whole input and
// all facts. It is immutable and safe for concurrent use.
type Prompt struct {
	text    string
	version string
	names   []string
	places  []string // the text between the names: one more than names
}

// Version is the hex SHA-256 of the prompt's text: another text is another
// version (R56).
func (p *Prompt) Version() string { return p.version }

// Names are the data that the prompt names, each once, in order of first use.
func (p *Prompt) Names() []string {
	var once []string
	for _, name := range p.names {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	return once
}

var promptName = regexp.MustCompile(`^(input(\.[A-Za-z_][A-Za-z0-9_]*)*|facts\.[A-Za-z_][A-Za-z0-9_]*)$`)

// ParsePrompt reads a prompt. Errors name the line.
func ParsePrompt(text string) (*Prompt, error) {
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("reading the prompt: it is empty")
	}
	sum := sha256.Sum256([]byte(text))
	p := &Prompt{text: text, version: hex.EncodeToString(sum[:])}
	rest := text
	for {
		before, after, found := strings.Cut(rest, "${")
		p.places = append(p.places, before)
		if !found {
			return p, nil
		}
		line := 1 + strings.Count(text[:len(text)-len(after)], "\n")
		name, tail, closed := strings.Cut(after, "}")
		name = strings.TrimSpace(name)
		switch {
		case !closed:
			return nil, fmt.Errorf("reading the prompt: line %d: ${ has no }", line)
		case !promptName.MatchString(name):
			return nil, fmt.Errorf("reading the prompt: line %d: ${%s} is not data of the task: write ${input}, ${input.FIELD} or ${facts.NAME}", line, cutName(name))
		}
		p.names, rest = append(p.names, name), tail
	}
}

func cutName(name string) string {
	if r := []rune(name); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return name
}

// instructions is the prompt's text with each name in brackets: the data
// itself never stands among instructions.
func (p *Prompt) instructions() string {
	var b strings.Builder
	for i, place := range p.places {
		b.WriteString(place)
		if i < len(p.names) {
			b.WriteString("[" + p.names[i] + "]")
		}
	}
	return strings.TrimSpace(b.String())
}
