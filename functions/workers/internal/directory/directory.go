// Package directory opens what stands behind a connection of kind files or
// outbox: what the runtime gives with it, else a directory of the disk.
package directory

import (
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Of opens what Task.Connection or VerifyRequest.Connection gave. A connection
// of another kind, or without a directory, is a fatal error.
func Of(c worker.Connection, err error, kinds ...string) (worker.Directory, error) {
	switch {
	case err != nil:
		return nil, err
	case !slices.Contains(kinds, c.Kind):
		return nil, worker.Fatal("connection %q is of kind %q; this worker needs one of kind %s", c.Name, c.Kind, kinds[0])
	case c.Directory != nil:
		return c.Directory, nil
	case c.Setting("dir", "") == "":
		return nil, worker.Fatal("connection %q has no directory (setting dir)", c.Name)
	}
	return disk(c.Setting("dir", "")), nil
}
