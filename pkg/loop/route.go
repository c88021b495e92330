package loop

import (
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/schema"
)

func (c *checker) compileRoute(n *Node) {
	route := n.Step.Route
	p := place{node: n}
	fields := map[string]*schema.Type{}
	for _, by := range route.By {
		r := c.expr(p, by.Expr, nil)
		n.RouteBy = append(n.RouteBy, NamedRule{Name: by.Name, Rule: r})
		fields[by.Name] = anything
		if r != nil {
			fields[by.Name] = r.Type()
		}
	}
	if len(route.Rows) == 0 {
		c.fault(c.keyOf(n, "route"), "E111", "`route` needs at least one row.")
	} else if !slices.ContainsFunc(route.Rows, func(r Row) bool { return r.Worker != "" }) {
		c.fault(c.keyOf(n, "route"), "E227", "Every row asks a person, so nothing says what the step gives. At least one row names a worker: its output schema is what people fill in.")
	}
	for i, row := range route.Rows {
		compiled := RouteRule{Match: row.Match, Ask: row.Ask, Worker: c.worker(row.Worker, row.Source.Get("worker"))}
		compiled.Backup = c.backup(compiled.Worker, row.Backup, row.Source.Get("backup"))
		if row.Ask != "" {
			c.group(row.Ask, row.Source.Get("ask"))
		}
		if compiled.Worker != nil {
			compiled.Mode = mode(compiled.Worker, n)
			c.sameWork(n, compiled.Worker, row)
		}
		n.Routes = append(n.Routes, compiled)
		c.checkRow(row, fields)
		if len(row.Match) == 0 && i < len(route.Rows)-1 {
			c.fault(route.Rows[i+1].Source, "E206", "This row is never reached: the one before it fits always. Put the row without conditions last.")
		}
	}
}

// sameWork compares a row's worker with the first row's: all give the same output.
func (c *checker) sameWork(n *Node, w *Worker, row Row) {
	if n.OutputType == nil {
		n.OutputType = w.Output.Type()
		return
	}
	if faults := schema.Compatible(w.Output.Type(), n.OutputType); len(faults) > 0 {
		c.fault(row.Source.Get("worker"), "E227", "All workers of a table give the same output, but that of %s differs from the first: %s", w.Charter.Worker, sentence(faults[0].String()))
	}
}

// checkRow compares a row's conditions with the values they are compared with.
func (c *checker) checkRow(row Row, fields map[string]*schema.Type) {
	for _, match := range row.Match {
		at := row.Source.Get(match.Field)
		t, given := fields[match.Field]
		if !given {
			c.fault(row.Source.Key(match.Field), "E248", "The row looks at %q, but `by` gives no such value.", match.Field)
			continue
		}
		for _, value := range match.Values {
			if len(t.Enum) > 0 && !slices.Contains(t.Enum, any(value)) {
				c.fault(at, "E248", "%q can never be: the value is one of %s.", value, enumWords(t.Enum))
			}
		}
	}
}

func enumWords(enum []any) string {
	words := make([]string, len(enum))
	for i, v := range enum {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, ", ")
}
