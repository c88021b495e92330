//go:build !unix

package sqlitestore

func isReadOnlyVolume(error) bool { return false }
