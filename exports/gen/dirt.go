package main

import "strings"

// dirty is the next kind of row that a scan must reject, in turn, so that even
// a small export has each of them.
func (s *source) dirty() line {
	kind := dirt[s.dirt%len(dirt)]
	s.dirt++
	return kind(s)
}

// spoil makes a clean row and changes one cell.
func spoil(at int, values ...string) func(*source) line {
	return func(s *source) line {
		cells := s.deal(s.stale())
		cells[at] = s.pick(values...)
		return line{cells: cells}
	}
}

var dirt = []func(*source) line{
	spoil(atEmail, "", " "),
	spoil(atActivity, "03.11.2026", "21.10.2026"),
	spoil(atEmail, "maria.gomez(at)firm.example", "tom@@becker.example", "zoe@localhost", "ole.müller@firm.example"),
	again,
	spoil(atCurrency, "JPY", "PLN", "€"),
	spoil(atAmount, "12.500,00", "1.234", "4.000,5"),
	spoil(atActivity, "2027-02-14", "2026-12-01"),
	changed,
	spoil(atAmount, "-1500.00", "n/a", "", "2,50,000"),
	spoil(atStage, "Stalled", "", "Maybe"),
	spoil(atActivity, "2026-02-31", "11/03/2026", "3 Nov 2026", "", "2026-9-1"),
	short,
	spoil(atCompany, "", "\t"),
	spoil(atEmail, "Li Wei <li.wei@firm.example>", "a b@firm.example", "karel@firm..example"),
	stray,
	spoil(atDiscount, "ten", "120%", "5"),
	spoil(atStatus, "yes", ""),
	spoil(atID, "", "D 10 017", "=1+1"),
	unclosed,
	spoil(atName, ""),
	blank,
}

// again repeats an earlier row as it stands.
func again(s *source) line { return line{cells: s.kept[s.IntN(len(s.kept))]} }

// changed repeats an earlier row's id with another amount.
func changed(s *source) line {
	cells := append([]string(nil), s.kept[s.IntN(len(s.kept))]...)
	cells[atAmount] = "77.00"
	return line{cells: cells}
}

// short lacks its last cells.
func short(s *source) line { return line{cells: s.deal(s.stale())[:atDiscount]} }

// blank has nothing in any cell, as a spreadsheet's unused row.
func blank(*source) line { return line{cells: make([]string, len(header))} }

// stray has a quotation mark inside a cell that is not quoted.
func stray(s *source) line {
	cells := s.deal(s.stale())
	cells[atName] = `19" rack`
	return line{raw: strings.Join(plain(cells), ",") + "\r\n"}
}

// unclosed opens a quotation mark that ends nowhere; a blank line follows.
func unclosed(s *source) line {
	cells := s.deal(s.stale())
	cells[atName] = `"Wall panel`
	return line{raw: strings.Join(plain(cells), ",") + "\r\n\r\n"}
}

// plain makes cells that need no quotes.
func plain(cells []string) []string {
	out := make([]string, len(cells))
	for i, cell := range cells {
		out[i] = strings.Map(func(r rune) rune {
			if r == ',' || r == '\n' {
				return ' '
			}
			return r
		}, cell)
		if i != atName {
			out[i] = strings.ReplaceAll(out[i], `"`, "")
		}
	}
	return out
}
