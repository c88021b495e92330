package sqlitestore

import (
	"fmt"
)

// applicationID marks the file as ours ("oloo" in ASCII).
const applicationID = 0x6f6c6f6f

// schemaVersion is the version this program writes; migrations[i] leads from
// version i to i+1. A released migration is never changed.
const schemaVersion = 1

var migrations = [schemaVersion][]string{
	{
		`CREATE TABLE item (
			id INTEGER PRIMARY KEY,
			part TEXT NOT NULL,
			sort TEXT NOT NULL,
			version INTEGER NOT NULL,
			write_id TEXT NOT NULL,
			numbers TEXT NOT NULL,
			body BLOB,
			list_part TEXT,
			list_sort TEXT,
			due_part TEXT,
			due_sort TEXT,
			expires INTEGER NOT NULL
		) STRICT`,
		`CREATE UNIQUE INDEX item_key ON item (part, sort)`,
		`CREATE INDEX item_list ON item (list_part, list_sort, part, sort) WHERE list_part IS NOT NULL`,
		`CREATE INDEX item_due ON item (due_part, due_sort, part, sort) WHERE due_part IS NOT NULL`,
		`CREATE INDEX item_expires ON item (expires) WHERE expires > 0`,
		`CREATE TABLE blob (
			id INTEGER PRIMARY KEY,
			hash BLOB NOT NULL UNIQUE,
			stored INTEGER NOT NULL,
			content BLOB NOT NULL
		) STRICT`,
	},
}

// identify refuses a file that is not a store of a known version. An empty
// file answers version 0.
func identify(c *conn) (version int64, err error) {
	id, err := c.number("PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	version, err = c.number("PRAGMA user_version")
	if err != nil {
		return 0, err
	}
	tables, err := c.number("SELECT count(*) FROM sqlite_schema")
	switch {
	case err != nil:
		return 0, err
	case id == 0 && version == 0 && tables == 0:
		return 0, nil
	case id != applicationID:
		return 0, fmt.Errorf("%w: it is a database of another program", ErrNotStore)
	case version > schemaVersion:
		return 0, fmt.Errorf("%w: its version is %d, this program knows up to %d", ErrNewer, version, schemaVersion)
	}
	return version, nil
}

// migrate brings a file to the current version in one transaction: after a
// crash it is at the old version or at the new one.
func migrate(c *conn) error {
	if err := c.run("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := migrateOpen(c); err != nil {
		_ = c.run("ROLLBACK") // the first error says more
		return err
	}
	return c.run("COMMIT")
}

func migrateOpen(c *conn) error {
	version, err := identify(c)
	if err != nil {
		return err
	}
	for ; version < schemaVersion; version++ {
		if len(migrations[version]) == 0 {
			return fmt.Errorf("migrating from version %d: no statements lead from it", version)
		}
		if err := c.run(migrations[version]...); err != nil {
			return fmt.Errorf("migrating from version %d: %w", version, err)
		}
	}
	return c.run(
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		fmt.Sprintf("PRAGMA user_version = %d", schemaVersion),
	)
}
