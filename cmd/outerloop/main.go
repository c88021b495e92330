// Command outerloop runs loops: see `outerloop --help`.
package main

import "github.com/outerloop-dev/outerloop/cmd/outerloop/cli"

// version is set when the program is built.
var version string

func main() { cli.Main(cli.Config{Version: version}) }
