package cli

import (
	"os"

	"github.com/mattn/go-isatty"
)

// processStreams are the process's own, with what its terminal can do.
func processStreams() Streams {
	s := Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Program: programName(os.Args[0])}
	able := os.Getenv("TERM") != "dumb"
	if isatty.IsTerminal(os.Stdout.Fd()) {
		s.Color = able && os.Getenv("NO_COLOR") == ""
		s.Width = terminalWidth(os.Stdout)
	}
	if able && isatty.IsTerminal(os.Stderr.Fd()) {
		s.Live, s.LiveWidth = true, terminalWidth(os.Stderr)
	}
	return s
}
