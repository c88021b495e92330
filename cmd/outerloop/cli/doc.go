// Package cli is the command line: every command of the program outerloop,
// importable, so that a project with workers of its own builds the same program
// with them in it:
//
//	func main() { cli.Main(cli.Config{Workers: []cli.Worker{…}}) }
//
// A command writes what it found to the output and what went wrong to the error
// output, text for people or (-o json) stable JSON for scripts. Exit codes: 0
// done, 1 the work failed, 2 usage or invalid input, 3 waiting for a person.
//
// The package reads no environment but NO_COLOR, TERM and GOGC, and only in Main.
package cli

//go:generate go run github.com/outerloop-dev/outerloop/cmd/outerloop docs --write ../../../docs/cli.md
