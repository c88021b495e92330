package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"modernc.org/sqlite"
)

// conn is one SQLite connection with its prepared statements. It speaks to the
// driver itself: the pool of database/sql would cost a third of a small read.
// It is not safe for concurrent use.
type conn struct {
	driver driver.Conn
	ready  map[string]statement
	// file is named in errors, once whoever opened it no longer does.
	file string
}

// classified is an error of SQLite's by its kind, with the file that it is about.
func (c *conn) classified(err error) error {
	var lite *sqlite.Error
	if c.file == "" || !errors.As(err, &lite) {
		return classify(err)
	}
	return fmt.Errorf("%s: %w", c.file, classify(err))
}

// dial opens a connection; params are SQLite's URI parameters.
func dial(path string, params url.Values) (*conn, error) {
	// The characters that end a path in a URI are the only ones to escape.
	escaped := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	opened, err := (&sqlite.Driver{}).Open("file:" + escaped + "?" + params.Encode())
	if err != nil {
		return nil, classify(err)
	}
	return &conn{driver: opened, ready: map[string]statement{}}, nil
}

func (c *conn) prepared(text string) (statement, error) {
	if stmt, ok := c.ready[text]; ok {
		return stmt, nil
	}
	prepared, err := c.driver.Prepare(text)
	if err != nil {
		return nil, c.classified(err)
	}
	stmt, ok := prepared.(statement)
	if !ok {
		return nil, fmt.Errorf("the driver's statement %T takes no context", prepared)
	}
	c.ready[text] = stmt
	return stmt, nil
}

// exec runs a statement to its end and answers how many rows it changed. It
// takes no context: a change must not be cut in two.
func (c *conn) exec(text string, args ...driver.Value) (int64, error) {
	result, err := c.result(text, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// insert is exec for one new row and answers its id.
func (c *conn) insert(text string, args ...driver.Value) (int64, error) {
	result, err := c.result(text, args...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

func (c *conn) result(text string, args ...driver.Value) (driver.Result, error) {
	stmt, err := c.prepared(text)
	if err != nil {
		return nil, err
	}
	result, err := stmt.ExecContext(context.Background(), named(args))
	return result, c.classified(err)
}

// statement is what the driver's statements can do.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

func named(args []driver.Value) []driver.NamedValue {
	values := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
	}
	return values
}

// errStop ends a query early; query then answers nil.
var errStop = errors.New("stop")

// query runs a statement and gives each row to a function; the row is reused.
func (c *conn) query(text string, each func(row []driver.Value) error, args ...driver.Value) error {
	return c.queryContext(context.Background(), text, each, args...)
}

// queryContext is query for what takes long enough to be given up.
func (c *conn) queryContext(ctx context.Context, text string, each func(row []driver.Value) error, args ...driver.Value) (err error) {
	stmt, err := c.prepared(text)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(ctx, named(args))
	if err != nil {
		return c.classified(err)
	}
	defer func() {
		if closing := rows.Close(); err == nil {
			err = c.classified(closing)
		}
	}()
	row := make([]driver.Value, len(rows.Columns()))
	for {
		if err := rows.Next(row); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return c.classified(err)
		}
		if err := each(row); errors.Is(err, errStop) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// number runs a statement that answers one number.
func (c *conn) number(text string) (int64, error) {
	var answer int64
	err := c.query(text, func(row []driver.Value) error {
		value, ok := row[0].(int64)
		if !ok {
			return fmt.Errorf("%s: answered %T, not a number", text, row[0])
		}
		answer = value
		return nil
	})
	return answer, err
}

// run executes statements one after the other. Its errors say what is wrong, not
// which statement found out: a damaged file shows at any of them.
func (c *conn) run(texts ...string) error {
	for _, text := range texts {
		if _, err := c.exec(text); err != nil {
			return err
		}
	}
	return nil
}

// forget drops the prepared statements, which hold on to the schema.
func (c *conn) forget() {
	for _, stmt := range c.ready {
		_ = stmt.Close() // the error is that of the statement's last run, reported then
	}
	clear(c.ready)
}

func (c *conn) close() error {
	c.forget()
	return c.classified(c.driver.Close())
}
