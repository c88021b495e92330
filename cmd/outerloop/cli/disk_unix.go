//go:build linux || darwin

package cli

import "golang.org/x/sys/unix"

// freeSpace is what this user may still write on the volume of a directory.
func freeSpace(dir string) (int64, bool) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, false
	}
	return int64(stat.Bavail) * int64(stat.Bsize), true //nolint:unconvert // the types differ by system
}
