package claimchecker

import (
	_ "embed"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed forbidden.txt
var forbiddenFile string

//go:embed words.txt
var wordsFile string

//go:embed numbers.txt
var numbersFile string

var (
	promises = readPromises(forbiddenFile)
	capitals = readWords(wordsFile)
	figures  = readWords(numbersFile)
)

// taken stands for what the row bears out; it separates words.
const taken = '\x00'

// claim is a piece of text that states something.
type claim struct{ kind, text string }

// mask takes every phrase out of a text where it stands on its own, and counts
// how many there were.
func mask(text string, phrases []string) (rest string, found int) {
	for _, phrase := range phrases {
		for from := 0; ; {
			at := strings.Index(text[from:], phrase)
			if at < 0 {
				break
			}
			at += from
			end := at + len(phrase)
			if !alone(text, at, end) {
				_, size := utf8.DecodeRuneInString(text[at:])
				from = at + size
				continue
			}
			text = text[:at] + string(taken) + text[end:]
			from = at + 1
			found++
		}
	}
	return text, found
}

// alone tells whether a phrase is not part of a longer word or number: "5%"
// does not stand alone in "15%", nor "EUR 12.00" in "EUR 12.005".
func alone(text string, at, end int) bool {
	before, size := utf8.DecodeLastRuneInString(text[:at])
	if joins(before) {
		return false
	}
	first, _ := utf8.DecodeRuneInString(text[at:end])
	if wide, _ := utf8.DecodeLastRuneInString(text[:at-size]); unicode.IsDigit(first) &&
		(strings.ContainsRune("-−–+±~<>/\\", before) || strings.ContainsRune(".,'’:", before) && unicode.IsNumber(wide)) {
		return false
	}
	after, size := utf8.DecodeRuneInString(text[end:])
	if joins(after) || after == '%' || after == '‰' {
		return false
	}
	next, _ := utf8.DecodeRuneInString(text[end+size:])
	last, _ := utf8.DecodeLastRuneInString(text[at:end])
	return !(unicode.IsNumber(next) && (unicode.IsNumber(last) || last == '%') && strings.ContainsRune(".,'’:/-−–", after))
}

func joins(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || r == '_' || r == taken)
}

// claims extracts everything that states a figure, a date, a name or an
// address, from a text in which what is known was masked.
func claims(text string) []claim {
	var found []claim
	split := func(r rune) bool { return unicode.IsSpace(r) || r == taken }
	for _, chunk := range strings.FieldsFunc(text, split) {
		shown := strings.Trim(chunk, ".,;:!?()[]\"“”„'’")
		switch {
		case hidden(chunk):
			found = append(found, claim{"hidden character", strings.ToValidUTF8(chunk, "�")})
		case strings.ContainsFunc(chunk, unicode.IsNumber):
			found = append(found, claim{"figure", shown})
		case strings.ContainsRune(chunk, '@'), strings.Contains(chunk, "://"), strings.HasPrefix(strings.ToLower(shown), "www."):
			found = append(found, claim{"address", shown})
		case strings.ContainsFunc(chunk, func(r rune) bool { return unicode.Is(unicode.Sc, r) || r == '%' || r == '‰' }):
			found = append(found, claim{"amount", shown})
		default:
			found = append(found, words(chunk)...)
		}
	}
	return found
}

// hidden tells whether a chunk holds what a reader cannot see.
func hidden(chunk string) bool {
	return !utf8.ValidString(chunk) || strings.ContainsFunc(chunk, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r)
	})
}

// words looks at the words of a chunk: a number in words is a figure, and
// whatever begins with a capital, or is written in another script, is a name.
func words(chunk string) []claim {
	var found []claim
	for _, word := range strings.FieldsFunc(chunk, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
		lower := strings.ToLower(word)
		switch {
		case figures[lower]:
			found = append(found, claim{"figure", word})
		case named(word) && !capitals[lower]:
			found = append(found, claim{"name", word})
		}
	}
	return found
}

func named(word string) bool {
	return strings.ContainsFunc(word, func(r rune) bool {
		return unicode.IsUpper(r) || unicode.IsTitle(r) || unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r)
	})
}

// promise is a promise that no mail may make.
type promise struct {
	words *regexp.Regexp
	why   string
}

// forbidden names every promise that a text makes.
func forbidden(text string) []Fault {
	var found []Fault
	line := strings.Join(strings.FieldsFunc(text, unicode.IsSpace), " ")
	for _, p := range promises {
		for _, words := range p.words.FindAllString(line, -1) {
			found = append(found, Fault{Text: strings.ReplaceAll(words, string(taken), "…"), Why: p.why})
		}
	}
	return found
}

func readPromises(file string) []promise {
	var all []promise
	for _, line := range lines(file) {
		at := strings.LastIndex(line, " | ")
		all = append(all, promise{regexp.MustCompile("(?i)" + line[:at]), line[at+3:]})
	}
	return all
}

func readWords(file string) map[string]bool {
	all := map[string]bool{}
	for _, line := range lines(file) {
		for _, word := range strings.Fields(line) {
			all[word] = true
		}
	}
	return all
}

// lines are the lines of a file without blank ones and comments.
func lines(file string) []string {
	var all []string
	for line := range strings.Lines(file) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	return all
}
