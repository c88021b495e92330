//go:build !linux

package sqlitestore_test

const crowdVariable = "SQLITESTORE_TEST_CROWD"

func limitFiles() {}

func crowd(string) {}
