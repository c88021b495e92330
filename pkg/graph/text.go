package graph

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sizes of text in drawn pictures, in pixels.
const (
	fontSize   = 13.0
	smallSize  = 11.0
	lineHeight = 17.0
	// wrapAt is the longest line in a shape, in characters.
	wrapAt = 34
)

// widthOf estimates how wide a text is drawn, on the safe side: a picture is
// laid out without the reader's fonts.
func widthOf(text string, size float64) float64 {
	units := 0.0
	for _, r := range text {
		switch {
		case strings.ContainsRune("iljI.,:;'|!()[]{}", r):
			units += 0.42
		case strings.ContainsRune("mwMW@%—…", r):
			units += 1.0
		case r >= 0x1100:
			units += 1.1
		case unicode.IsUpper(r):
			units += 0.76
		default:
			units += 0.64
		}
	}
	return units * size
}

// wrap breaks a text into lines of at most width characters, at spaces where it can.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		for utf8.RuneCountInString(word) > width {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			runes := []rune(word)
			lines, word = append(lines, string(runes[:width])), string(runes[width:])
		}
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// shown are a vertex's lines as drawn.
func shown(v *Vertex) []string {
	var out []string
	for _, line := range v.Lines {
		out = append(out, wrap(line, wrapAt)...)
	}
	return out
}
