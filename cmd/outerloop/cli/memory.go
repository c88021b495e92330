package cli

import (
	"os"
	"runtime/debug"
)

// shortCommands is the growth of the heap, in percent, that short commands may
// have before it is collected: most end before the first collection.
const shortCommands = 400

// relax puts collections off. A GOGC in the environment stays as it is.
func relax() (usual func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(shortCommands)
	return func() { debug.SetGCPercent(before) }
}
