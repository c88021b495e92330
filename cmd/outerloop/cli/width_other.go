//go:build !unix

package cli

import "os"

// terminalWidth is unknown here; nothing is cut.
func terminalWidth(*os.File) int { return 0 }
