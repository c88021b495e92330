//go:build !linux

package sqlitestore_test

func limitFiles() {}
