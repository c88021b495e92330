package sim

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// line is one thing that happened; it is put into words only when somebody reads it.
type line struct {
	at   time.Time
	who  string
	op   string
	what string
	ops  []store.Op
	args []any
}

// log notes what the running actor does.
func (s *Sim) log(what string, args ...any) {
	who, op := "world", ""
	if s.cur != nil {
		who, op = s.cur.name, s.cur.op
		if s.cur.on != nil {
			who += "@" + s.cur.on.name
		}
	}
	s.trace = append(s.trace, line{at: s.now, who: who, op: op, what: what, args: args})
}

func (s *Sim) logFault(f Fault) { s.log("  *** %s", f) }

// logWrite notes a write and what came of it.
func (s *Sim) logWrite(ops []store.Op, err error) {
	s.log("  write: %v", outcomeOf(err))
	s.trace[len(s.trace)-1].ops = ops
}

func outcomeOf(err error) string {
	if err == nil {
		return "done"
	}
	return err.Error()
}

// String words the line.
func (l line) String() string {
	text := l.at.Format("15:04:05.000 ") + l.who
	if l.op != "" {
		text += " [" + l.op + "]"
	}
	text += " " + fmt.Sprintf(l.what, l.args...)
	if l.ops != nil {
		parts := make([]string, len(l.ops))
		for i, op := range l.ops {
			parts[i] = string(op.Kind) + " " + op.Item.Part + "/" + op.Item.Sort
			if op.Version > 0 {
				parts[i] += fmt.Sprintf("@%d", op.Version)
			}
		}
		text += " {" + strings.Join(parts, ", ") + "}"
	}
	return text
}

// WriteTrace writes the last lines of the trace, at most so many; 0: all.
func (s *Sim) WriteTrace(w io.Writer, last int) {
	from := 0
	if last > 0 {
		from = max(0, len(s.trace)-last)
	}
	for _, l := range s.trace[from:] {
		fmt.Fprintln(w, l.String())
	}
}
