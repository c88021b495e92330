//go:build !unix

package local

import (
	"errors"
	"fmt"
	"os"
)

// lockFile: without a lock that dies with its process two owners could write one file.
func lockFile(*os.File) error {
	return fmt.Errorf("the embedded engine needs a system with flock: %w", errors.ErrUnsupported)
}
