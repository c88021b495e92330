// Command gen writes a CRM export as such exports really look: a byte-order
// mark and CRLF, quoted commas and line breaks, names from all over, dates in
// the wrong form, broken addresses, duplicates, several currencies, deals that
// are closed, and activities in the future. The same seed gives the same bytes.
//
//	go run ./exports/gen > exports/crm.csv          # the export that is shipped
//	go run ./exports/gen -n 50000 > large.csv
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
)

// What the shipped export was made with.
const (
	shippedRows = 320
	shippedSeed = 7
)

func main() {
	rows := flag.Int("n", shippedRows, "number of data rows, at least 100")
	seed := flag.Uint64("seed", shippedSeed, "seed: the same seed gives the same export")
	flag.Parse()
	if *rows < 100 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "gen: -n must be at least 100, and there are no arguments")
		os.Exit(2)
	}
	out := bufio.NewWriter(os.Stdout)
	err := write(out, *rows, *seed)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}
