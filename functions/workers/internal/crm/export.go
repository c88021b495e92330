package crm

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// The columns that an export must have. Others are allowed and ignored.
const (
	ColumnID       = "Deal ID"
	ColumnName     = "Deal name"
	ColumnCompany  = "Company"
	ColumnContact  = "Contact"
	ColumnEmail    = "E-mail"
	ColumnStatus   = "Contact status"
	ColumnOwner    = "Owner"
	ColumnStage    = "Stage"
	ColumnProduct  = "Product"
	ColumnAmount   = "Amount"
	ColumnCurrency = "Currency"
	ColumnDiscount = "Discount"
	ColumnActivity = "Last activity"
)

// Columns lists the columns that an export must have, in no needed order.
func Columns() []string {
	return []string{
		ColumnID, ColumnName, ColumnCompany, ColumnContact, ColumnEmail, ColumnStatus, ColumnOwner,
		ColumnStage, ColumnProduct, ColumnAmount, ColumnCurrency, ColumnDiscount, ColumnActivity,
	}
}

// RecordLimit is the longest record that is read, in bytes. It bounds the
// memory of a scan, whatever the file holds.
const RecordLimit = 1 << 20

// FileError says why a file is not an export at all. Its text is for the
// person who gave the file.
type FileError struct{ Reason string }

// Error is the reason.
func (e *FileError) Error() string { return e.Reason }

func unusable(format string, args ...any) error { return &FileError{fmt.Sprintf(format, args...)} }

// RowError says why one row cannot be used; the next one can be read.
type RowError struct {
	Row    int
	Reason string
}

// Error names the row and the reason.
func (e *RowError) Error() string { return fmt.Sprintf("row %d %s", e.Row, e.Reason) }

// Row is one record of an export. It is valid until the next one is read.
type Row struct {
	Source
	cells   []string
	columns map[string]int
}

// Cell is a cell as it stands in the file; a column that is not one of Columns
// panics, since it is a mistake in the program.
func (r Row) Cell(column string) string {
	at, ok := r.columns[column]
	if !ok {
		panic("crm: no column " + column)
	}
	return r.cells[at]
}

// Export reads the records of an export one by one, in memory bounded by
// RecordLimit. It is not safe for concurrent use.
type Export struct {
	file    io.ReaderAt
	size    int64
	reader  *csv.Reader
	limit   *recordLimit
	columns map[string]int
	width   int
	// base is where the reader began; line is its last line, row the last row.
	base int64
	line int
	row  int
}

// Open reads the beginning of a file up to and with its header. Errors that
// the file is to blame for are *FileError.
func Open(file io.ReaderAt, size int64) (*Export, error) {
	base, err := sniff(file, size)
	if err != nil {
		return nil, err
	}
	e := newExport(file, base, size)
	cells, err := e.record()
	var row *RowError
	switch {
	case errors.Is(err, io.EOF):
		return nil, unusable("is empty: the first row must name the columns")
	case errors.As(err, &row):
		return nil, unusable("is not a CSV file: row 1 %s", row.Reason)
	case err != nil:
		return nil, err
	}
	return e, e.header(cells)
}

// At reads the one record that begins at an offset of a file with a header.
func At(file io.ReaderAt, size int64, source Source) (Row, error) {
	whole, err := Open(file, size)
	if err != nil {
		return Row{}, err
	}
	before := make([]byte, 1)
	if source.Offset <= whole.base || source.Offset >= size {
		return Row{}, unusable("has no record at byte %d", source.Offset)
	}
	if _, err := file.ReadAt(before, source.Offset-1); err != nil {
		return Row{}, fmt.Errorf("reading byte %d: %w", source.Offset-1, err)
	}
	if before[0] != '\n' {
		return Row{}, unusable("has no record that begins at byte %d", source.Offset)
	}
	e := newExport(file, source.Offset, size)
	e.columns, e.width, e.row = whole.columns, whole.width, source.Row-1
	row, err := e.Next()
	if errors.Is(err, io.EOF) {
		err = unusable("has no record at byte %d", source.Offset)
	}
	row.Source = source
	return row, err
}

func newExport(file io.ReaderAt, base, size int64) *Export {
	e := &Export{file: file, size: size}
	e.start(base)
	return e
}

// start begins to read records at an offset.
func (e *Export) start(base int64) {
	e.limit = &recordLimit{from: io.NewSectionReader(e.file, base, e.size-base)}
	e.reader = csv.NewReader(e.limit)
	e.reader.FieldsPerRecord = -1
	e.reader.ReuseRecord = true
	e.base, e.line = base, 0
}

// Next reads the next record. A *RowError is about that record alone; io.EOF
// ends the file; other errors end the reading.
func (e *Export) Next() (Row, error) {
	offset := e.base + e.reader.InputOffset()
	cells, err := e.record()
	if err != nil {
		return Row{Source: Source{e.row, offset}}, err
	}
	row := Row{Source: Source{e.row, offset}, cells: cells, columns: e.columns}
	switch {
	case slices.IndexFunc(cells, func(c string) bool { return strings.TrimSpace(c) != "" }) < 0:
		return row, &RowError{e.row, "is empty"}
	case len(cells) != e.width:
		return row, &RowError{e.row, fmt.Sprintf("has %d cells where the header has %d", len(cells), e.width)}
	}
	return row, nil
}

// record reads a record and counts rows as a spreadsheet does, blank lines too.
func (e *Export) record() ([]string, error) {
	e.limit.start = e.reader.InputOffset()
	cells, err := e.reader.Read()
	var parse *csv.ParseError
	switch {
	case errors.Is(err, errTooLong), errors.As(err, &parse):
		return nil, e.skip(parse)
	case err != nil:
		return nil, err
	}
	line, _ := e.reader.FieldPos(0)
	last, _ := e.reader.FieldPos(len(cells) - 1)
	e.row += line - e.line
	e.line = last + strings.Count(cells[len(cells)-1], "\n")
	for _, cell := range cells {
		if !utf8.ValidString(cell) {
			return nil, unusable("is not valid UTF-8 (row %d); export it as UTF-8", e.row)
		}
		if strings.IndexByte(cell, 0) >= 0 {
			return nil, unusable("is not a CSV file: row %d holds a zero byte", e.row)
		}
	}
	return cells, nil
}

// skip passes over a damaged record: its first line alone is given up, and
// reading goes on with the next one. Otherwise a quotation mark that is not
// closed would silently swallow the rows up to the next one. What was read in
// vain adds up to no more than the file: the cell that is left open ends at the
// next line with an odd number of quotation marks, and only such a line opens one.
func (e *Export) skip(parse *csv.ParseError) error {
	from := e.base + e.limit.start
	next, blank, ok := e.lineAfter(from)
	e.row += blank + 1
	if !ok {
		return unusable("has a record longer than %d bytes that begins at row %d", RecordLimit, e.row)
	}
	e.start(next)
	if parse != nil && errors.Is(parse.Err, csv.ErrBareQuote) {
		return &RowError{e.row, "is not well-formed CSV: a quotation mark stands inside a cell that is not quoted"}
	}
	return &RowError{e.row, "is not well-formed CSV: a quotation mark is not closed, or not doubled inside a quoted cell"}
}

// lineAfter finds where the line after the one at an offset begins, and how
// many blank lines stood before it. False: the line is longer than RecordLimit.
func (e *Export) lineAfter(from int64) (next int64, blank int, ok bool) {
	buffer := make([]byte, 64<<10)
	text := false
	for at := from; at < e.size && at-from <= RecordLimit; {
		n, _ := e.file.ReadAt(buffer[:min(int64(len(buffer)), e.size-at)], at)
		if n == 0 {
			return 0, blank, false
		}
		for i, c := range buffer[:n] {
			switch {
			case c == '\n' && text:
				return at + int64(i) + 1, blank, true
			case c == '\n':
				blank++
			case c != '\r':
				text = true
			}
		}
		at += int64(n)
		if at == e.size {
			return at, blank, true
		}
	}
	return 0, blank, false
}

// header finds the columns.
func (e *Export) header(cells []string) error {
	e.width, e.columns = len(cells), map[string]int{}
	for at, cell := range cells {
		for _, column := range Columns() {
			if !strings.EqualFold(Text(cell), column) {
				continue
			}
			if _, twice := e.columns[column]; twice {
				return unusable("has the column %q twice", column)
			}
			e.columns[column] = at
		}
	}
	var missing []string
	for _, column := range Columns() {
		if _, ok := e.columns[column]; !ok {
			missing = append(missing, column)
		}
	}
	switch {
	case len(missing) == 0:
		return nil
	case len(cells) == 1 && strings.ContainsAny(cells[0], ";\t"):
		return unusable("is not separated by commas; export it with commas")
	case len(missing) == len(Columns()):
		return unusable("is not a CRM export: its first row names none of the columns %s", strings.Join(Columns(), ", "))
	}
	return unusable("lacks the column %s", strings.Join(missing, ", "))
}
