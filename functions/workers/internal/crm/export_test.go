package crm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

var headerLine = strings.Join(Columns(), ",")

// rowsOf reads an export and gives one line per row: its number, and its id or its fault.
func rowsOf(t *testing.T, text string) (lines []string, err error) {
	t.Helper()
	file := strings.NewReader(text)
	e, err := Open(file, file.Size())
	if err != nil {
		return nil, err
	}
	for {
		row, err := e.Next()
		var fault *RowError
		switch {
		case errors.Is(err, io.EOF):
			return lines, nil
		case errors.As(err, &fault):
			lines = append(lines, fmt.Sprintf("%d: %s", fault.Row, fault.Reason))
		case err != nil:
			return lines, err
		default:
			lines = append(lines, fmt.Sprintf("%d: %s", row.Row, row.Cell(ColumnID)))
			again, err := At(file, file.Size(), row.Source)
			if err != nil || again.Cell(ColumnID) != row.Cell(ColumnID) || again.Row != row.Row {
				t.Errorf("row %d read again: %v, %v", row.Row, again, err)
			}
		}
	}
}

func rest(id string) string { return id + strings.Repeat(",", len(Columns())-1) }

// Rows are numbered as a spreadsheet shows them, and no row vanishes.
func TestExportRows(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		text string
		want []string
	}{
		"mark, CRLF, blank lines": {
			"\ufeff" + headerLine + "\r\n" + rest("a") + "\r\n\r\n\r\n" + rest("b") + "\r\n",
			[]string{"2: a", "5: b"},
		},
		"line breaks in cells": {
			headerLine + "\n" + `a,"x` + "\n" + `y"` + strings.Repeat(",", 11) + "\n" + rest("b"),
			[]string{"2: a", "3: b"},
		},
		"other order, more columns, other case": {
			strings.ToUpper(strings.Join(Columns()[1:], ",")) + ", deal  id ,Extra\n" + strings.Repeat(",", 12) + "a,\n",
			[]string{"2: a"},
		},
		"too few cells": {headerLine + "\na,b\n" + rest("c") + "\n", []string{"2: has 2 cells where the header has 13", "3: c"}},
		"empty row":     {headerLine + "\n" + rest("") + "\n", []string{"2: is empty"}},
		"stray quotation mark": {
			headerLine + "\n" + rest(`a"b`) + "\n" + rest("c") + "\n",
			[]string{"2: is not well-formed CSV: a quotation mark stands inside a cell that is not quoted", "3: c"},
		},
		"a quotation mark left open swallows nothing": {
			headerLine + "\n" + rest("a") + "\n\n" + rest(`"b`) + "\n" + rest("c") + "\n" + rest(`"d"`) + "\n",
			[]string{"2: a", "4: is not well-formed CSV: a quotation mark is not closed, or not doubled inside a quoted cell", "5: c", "6: d"},
		},
		"open at the end": {
			headerLine + "\n" + rest("a") + "\n" + rest(`"b`),
			[]string{"2: a", "3: is not well-formed CSV: a quotation mark is not closed, or not doubled inside a quoted cell"},
		},
		"one long record of many lines, left open": {
			headerLine + "\n" + rest(`"a`) + "\n" + strings.Repeat(rest(strings.Repeat("b", 1000))+"\n", 1_100),
			[]string{"2: is not well-formed CSV: a quotation mark is not closed, or not doubled inside a quoted cell", "3: " + strings.Repeat("b", 1000)},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := rowsOf(t, c.text)
			if err != nil || strings.Join(got[:min(len(got), len(c.want))], "\n") != strings.Join(c.want, "\n") {
				t.Errorf("%v\n%s\nwant\n%s", err, strings.Join(got[:min(len(got), 8)], "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// A file that is no export gets one message that says what it is instead.
func TestUnusableFiles(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ text, want string }{
		"empty":           {"", "is empty"},
		"mark only":       {"\ufeff", "is empty"},
		"blank":           {"\n\n\n", "is empty"},
		"workbook":        {"PK\x03\x04....", "is a workbook"},
		"UTF-16":          {"\xff\xfeD\x00e\x00", "is UTF-16"},
		"binary":          {"\x7fELF\x02\x01\x01\x00\x00", "zero byte at byte 7"},
		"text":            {"To whom it may concern\n", "is not a CRM export"},
		"JSON":            {`{"deals": []}`, "is not a CSV file"},
		"semicolons":      {strings.ReplaceAll(headerLine, ",", ";") + "\n", "is not separated by commas"},
		"missing column":  {strings.Replace(headerLine, "Amount,", "", 1) + "\n", "lacks the column Amount"},
		"column twice":    {headerLine + ",amount\n", `has the column "Amount" twice`},
		"Latin-1":         {headerLine + "\n" + rest("M\xfcller") + "\n", "is not valid UTF-8 (row 2)"},
		"zero byte later": {headerLine + "\n" + strings.Repeat(rest("a")+"\n", 40) + rest("\x00") + "\n", "row 42 holds a zero byte"},
		"long line":       {headerLine + "\n" + strings.Repeat("a", RecordLimit+1<<17) + "\n", "longer than 1048576 bytes that begins at row 2"},
		"long header":     {strings.Repeat("a", RecordLimit+1<<17), "longer than 1048576 bytes that begins at row 1"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := rowsOf(t, c.text)
			var unusable *FileError
			if !errors.As(err, &unusable) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want …%s…", err, c.want)
			}
		})
	}
}

// Damaged rows are rejected one by one, however many there are.
func TestExportWithMuchDamage(t *testing.T) {
	t.Parallel()
	for name, damaged := range map[string]string{"open": rest(`"a`), "stray": rest(`a"b`), "pairs": rest(`"a""b""`), "long": `"` + strings.Repeat("x", 998)} {
		got, err := rowsOf(t, headerLine+"\n"+strings.Repeat(damaged+"\n", 3000)+rest("z")+"\n")
		if err != nil || len(got) != 3001 || got[3000] != "3002: z" {
			t.Errorf("%s: %d rows, %v", name, len(got), err)
		}
	}
}

func TestAtRefusesOtherPlaces(t *testing.T) {
	t.Parallel()
	text := headerLine + "\n" + rest("a") + "\n"
	for _, offset := range []int64{-1, 0, 5, int64(len(headerLine)) + 2, int64(len(text)), 1 << 40} {
		if row, err := At(strings.NewReader(text), int64(len(text)), Source{2, offset}); err == nil {
			t.Errorf("offset %d gave %v", offset, row)
		}
	}
}

// Whatever a file holds, reading ends, and every row is read or named.
func FuzzExport(f *testing.F) {
	f.Add([]byte(headerLine + "\r\n" + rest("a") + "\r\n"))
	f.Add([]byte("\ufeff" + headerLine + "\n" + rest(`"b`) + "\n\n" + rest(`c"`) + "\n"))
	f.Add([]byte(strings.ReplaceAll(headerLine, ",", ";")))
	if shipped, err := os.ReadFile("../../../../exports/crm.csv"); err == nil {
		f.Add(shipped[:4000])
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		file := bytes.NewReader(content)
		e, err := Open(file, file.Size())
		if err != nil {
			return
		}
		for last := 1; ; {
			row, err := e.Next()
			var fault *RowError
			if err != nil && !errors.As(err, &fault) {
				return
			}
			number := row.Row
			if fault != nil {
				number = fault.Row
			} else if again, err := At(file, file.Size(), row.Source); err != nil || again.Cell(ColumnID) != row.Cell(ColumnID) {
				t.Fatalf("row %d read again: %v", row.Row, err)
			}
			if number <= last {
				t.Fatalf("row %d after row %d", number, last)
			}
			last = number
		}
	})
}
