package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
)

// writeJSON prints a value for scripts: indented, keys as declared, no HTML escapes.
func (a *app) writeJSON(v any) error {
	enc := json.NewEncoder(a.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return nil
}

// say prints a line of text.
func (a *app) say(format string, args ...any) { fmt.Fprintf(a.Out, format+"\n", args...) }

// wrap prints a line behind an indent, broken between words at the terminal's edge.
func (a *app) wrap(indent, text string) {
	room := a.Width - columns(indent)
	for a.Width > 0 && room > 20 && columns(text) > room {
		at := breakAt(text, room)
		if at <= 0 {
			break
		}
		a.say("%s%s", indent, text[:at])
		text = strings.TrimLeft(text[at:], " ")
	}
	a.say("%s", strings.TrimRight(indent+text, " "))
}

// breakAt is the last space of a text within a width; 0: there is none.
func breakAt(text string, width int) int {
	at, used := 0, 0
	for i, r := range text {
		if used += runeColumns(r); used > width {
			break
		}
		if r == ' ' {
			at = i
		}
	}
	return at
}

func (a *app) paint(code, s string) string {
	if !a.Color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (a *app) red(s string) string    { return a.paint("31", s) }
func (a *app) green(s string) string  { return a.paint("32", s) }
func (a *app) yellow(s string) string { return a.paint("33", s) }
func (a *app) bold(s string) string   { return a.paint("1", s) }
func (a *app) dim(s string) string    { return a.paint("2", s) }

// plain makes text of the outside fit for one line of a terminal: control
// characters (escape sequences, line breaks) become spaces.
func plain(s string) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar || (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069) {
			return ' '
		}
		return r
	}, s)
	return strings.Join(strings.Fields(clean), " ")
}

// plainLines is plain for text of several lines, which keeps line breaks and indents.
func plainLines(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}

// columns is how many columns of a terminal a text takes.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60,
		r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// cut shortens a text to a number of columns, with an ellipsis.
func cut(s string, width int) string {
	if columns(s) <= width {
		return s
	}
	var b strings.Builder
	left := max(width-1, 0)
	for _, r := range s {
		if left -= runeColumns(r); left < 0 {
			break
		}
		b.WriteRune(r)
	}
	return b.String() + "…"
}

// table prints rows under a head. The last column is cut at the terminal's edge;
// colour, where given, paints a cell after it was padded.
type table struct {
	head   []string
	rows   [][]string
	right  []bool
	colour func(column int, cell string) func(string) string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) write(a *app, w io.Writer) {
	widths := t.widths()
	t.fit(widths, a.Width)
	if len(t.head) > 0 {
		fmt.Fprintln(w, a.dim(t.line(t.head, widths, a.Width, nil)))
	}
	for _, row := range t.rows {
		fmt.Fprintln(w, t.line(row, widths, a.Width, t.colour))
	}
}

func (t *table) widths() []int {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for len(widths) < len(row) {
			widths = append(widths, 0)
		}
		for i, cell := range row {
			widths[i] = max(widths[i], columns(cell))
		}
	}
	return widths
}

const (
	// leastCell is what a cell is cut to at most, lastCell what the last one keeps.
	leastCell = 8
	lastCell  = 12
)

// fit narrows the widest columns until a row has room on the terminal. The first
// column, which names the row, and columns of numbers are never cut.
func (t *table) fit(widths []int, room int) {
	if room <= 0 || len(widths) < 3 {
		return
	}
	for {
		used := min(widths[len(widths)-1], lastCell)
		widest := 0
		for i, width := range widths[:len(widths)-1] {
			used += width + 2
			number := i < len(t.right) && t.right[i]
			if i > 0 && !number && width > leastCell && (widest == 0 || width > widths[widest]) {
				widest = i
			}
		}
		if used <= room || widest == 0 {
			return
		}
		widths[widest] = max(leastCell, widths[widest]-(used-room))
	}
}

func (t *table) line(row []string, widths []int, width int, colour func(int, string) func(string) string) string {
	var b strings.Builder
	at := 0
	for i, cell := range row {
		last := i == len(row)-1
		if last && width > 0 && width-at > 8 {
			cell = cut(cell, width-at)
		}
		if !last && i > 0 {
			cell = cut(cell, widths[i])
		}
		pad := strings.Repeat(" ", max(widths[i]-columns(cell), 0))
		painted := cell
		if colour != nil {
			if paint := colour(i, cell); paint != nil {
				painted = paint(cell)
			}
		}
		switch {
		case i < len(t.right) && t.right[i]:
			b.WriteString(pad + painted)
		case last:
			b.WriteString(painted)
		default:
			b.WriteString(painted + pad)
		}
		if !last {
			b.WriteString("  ")
		}
		at += widths[i] + 2
	}
	return strings.TrimRight(b.String(), " ")
}

// stamp is a time in a table: UTC, to the second. A nil time is empty.
func stamp(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// span is a duration for people: the two greatest units.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// count writes "1 mail", "3 mails".
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
