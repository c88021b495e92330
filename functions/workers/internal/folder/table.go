package folder

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Table calls take for each row of a CSV file with a header, with its cells by
// column, without spaces around them; rows count as in a spreadsheet. A row of
// another length, or that is no UTF-8, goes to reject. Errors: those of Read;
// missing_input when the file has not all columns, or is no CSV.
func Table(f Folder, name string, columns []string, take func(row int, cells map[string]string), reject func(row int, why string)) error {
	content, err := f.Read(name)
	if err != nil {
		return err
	}
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))))
	r.FieldsPerRecord = -1
	header, err := r.Read()
	if err != nil {
		return worker.MissingInput("%s: reading the header: %w", name, err)
	}
	for _, column := range columns {
		if !slices.Contains(header, column) {
			return worker.MissingInput("%s has no column %q", name, column)
		}
	}
	for row := 2; ; row++ {
		cells, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return worker.MissingInput("%s: %w", name, err)
		case len(cells) != len(header):
			reject(row, fmt.Sprintf("it has %d cells, the header %d", len(cells), len(header)))
		case !utf8.ValidString(strings.Join(cells, "")):
			reject(row, "it is no UTF-8 text")
		default:
			byName := map[string]string{}
			for i, cell := range cells {
				byName[header[i]] = strings.Join(strings.Fields(cell), " ")
			}
			take(row, byName)
		}
	}
}
