package summariser

import (
	"regexp"
	"strings"
	"unicode"
)

// section is a part of a paper under a heading.
type section struct {
	name      string
	sentences []string
}

var heading = regexp.MustCompile(`^(?:\d+(?:\.\d+)*\.?\s+)?(Abstract|Introduction|Background|Method|Methods|Results|Evaluation|Discussion|Limits|Limitations|Conclusion|Conclusions|References|Acknowledgements)$`)

var (
	ligatures = strings.NewReplacer("ﬁ", "fi", "ﬂ", "fl", "ﬀ", "ff", "ﬃ", "ffi", "ﬄ", "ffl", "\r\n", "\n", "\f", "\n", "\u00ad", "")
	broken    = regexp.MustCompile(`(\p{Ll})-\n(\p{Ll})`)
)

// sections splits a paper's text at its headings; what stands before the first
// and after the references is left out.
func sections(text string) []section {
	text = broken.ReplaceAllString(ligatures.Replace(text), "$1$2")
	var out []section
	var body []string
	flush := func() {
		if len(out) > 0 {
			out[len(out)-1].sentences = sentences(strings.Join(body, " "))
		}
		body = nil
	}
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		found := heading.FindStringSubmatch(line)
		if found == nil {
			body = append(body, line)
			continue
		}
		flush()
		if found[1] == "References" {
			return out
		}
		out = append(out, section{name: found[1]})
	}
	flush()
	return out
}

// sentences splits prose at an end mark that is followed by a space and a capital.
func sentences(text string) []string {
	text = strings.Join(strings.Fields(text), " ")
	var out []string
	from := 0
	for i, r := range text {
		if r != '.' && r != '?' && r != '!' {
			continue
		}
		rest := text[i+1:]
		next := []rune(strings.TrimPrefix(rest, " "))
		if rest == "" || rest[0] == ' ' && len(next) > 0 && unicode.IsUpper(next[0]) {
			out = append(out, strings.TrimSpace(text[from:i+1]))
			from = i + 1
		}
	}
	return out
}
