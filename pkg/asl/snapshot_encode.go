package asl

import (
	"strconv"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// Snapshots are written by hand: they are taken at every step of an execution,
// and most of one is data that is JSON already.

// objectWriter writes one object after the other into the same buffer.
type objectWriter struct {
	b     []byte
	empty bool // nothing written in the current object yet
}

func (w *objectWriter) begin() {
	w.b = append(w.b, '{')
	w.empty = true
}

func (w *objectWriter) end() {
	w.b = append(w.b, '}')
	w.empty = false
}

func (w *objectWriter) key(name string) {
	if !w.empty {
		w.b = append(w.b, ',')
	}
	w.empty = false
	w.b = append(append(append(w.b, '"'), name...), `":`...)
}

func (w *objectWriter) text(name, value string) {
	w.key(name)
	w.b = rawjson.AppendString(w.b, value)
}

func (w *objectWriter) optionalText(name string, value *string) {
	if value != nil {
		w.text(name, *value)
	}
}

func (w *objectWriter) number(name string, value int64) {
	w.key(name)
	w.b = strconv.AppendInt(w.b, value, 10)
}

// count writes a number that is left out where it is 0.
func (w *objectWriter) count(name string, value int) {
	if value != 0 {
		w.number(name, int64(value))
	}
}

func (w *objectWriter) flag(name string, value bool) {
	if value {
		w.key(name)
		w.b = append(w.b, "true"...)
	}
}

func (w *objectWriter) document(name string, value []byte) {
	w.key(name)
	if value == nil {
		value = rawjson.Null
	}
	w.b = append(w.b, value...)
}

func (w *objectWriter) optionalDocument(name string, value []byte) {
	if len(value) > 0 {
		w.document(name, value)
	}
}

func (w *objectWriter) time(name string, value time.Time) {
	w.key(name)
	w.b = append(w.b, '"')
	w.b = append(value.AppendFormat(w.b, time.RFC3339Nano), '"')
}

func (w *objectWriter) optionalTime(name string, value time.Time) {
	if !value.IsZero() {
		w.time(name, value)
	}
}

// list writes an array; nothing if it is empty.
func (w *objectWriter) list(name string, n int, element func(i int)) {
	if n == 0 {
		return
	}
	w.key(name)
	w.b = append(w.b, '[')
	for i := range n {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		element(i)
	}
	w.b = append(w.b, ']')
	w.empty = false
}

func (s *snapshot) write(w *objectWriter) {
	w.begin()
	w.text("status", string(s.Status))
	w.key("start")
	w.begin()
	w.optionalDocument("input", s.Start.Input)
	w.text("id", s.Start.ID)
	w.text("name", s.Start.Name)
	w.text("role_arn", s.Start.RoleARN)
	w.text("machine_id", s.Start.MachineID)
	w.text("machine_name", s.Start.MachineName)
	w.end()
	w.time("start_time", s.StartTime)
	w.number("last_event", s.LastEvent)
	w.number("last_id", s.LastID)
	w.count("limit", int(s.Limit))
	w.optionalTime("limit_at", s.LimitAt)
	if s.Flow != nil {
		w.key("flow")
		s.Flow.write(w)
	}
	w.optionalDocument("output", s.Output)
	w.optionalText("error", s.Error)
	w.optionalText("cause", s.Cause)
	w.end()
}

func (f *flow) write(w *objectWriter) {
	w.begin()
	w.text("state", f.State)
	w.count("index", f.Index)
	w.number("entered", f.Entered)
	w.optionalTime("at", f.At)
	w.number("last", f.Last)
	w.document("input", f.Input)
	w.optionalDocument("item", f.Item)
	w.list("vars", len(f.Vars), func(i int) {
		w.begin()
		w.text("name", f.Vars[i].Name)
		w.document("value", f.Vars[i].Value)
		w.end()
	})
	w.count("retries", f.Retries)
	w.list("used", len(f.Used), func(i int) { w.b = strconv.AppendInt(w.b, int64(f.Used[i]), 10) })
	if f.Task != nil {
		w.key("task")
		f.Task.write(w)
	}
	if f.Timer != nil {
		w.key("timer")
		w.begin()
		w.number("id", int64(f.Timer.ID))
		w.time("at", f.Timer.At)
		w.flag("pause", f.Timer.Pause)
		w.end()
	}
	if f.Group != nil {
		w.key("group")
		f.Group.write(w)
	}
	w.end()
}

func (o *openTask) write(w *objectWriter) {
	w.begin()
	w.number("id", int64(o.ID))
	w.document("input", o.Input)
	if o.Token != "" {
		w.text("token", o.Token)
	}
	w.flag("started", o.Started)
	w.flag("submitted", o.Submitted)
	w.optionalTime("deadline", o.Deadline)
	w.count("heartbeat", int(o.Heartbeat))
	w.end()
}

func (g *group) write(w *objectWriter) {
	w.begin()
	w.number("total", int64(g.Total))
	w.number("next", int64(g.Next))
	w.number("done", int64(g.Done))
	w.optionalDocument("input", g.Input)
	w.list("items", len(g.Items), func(i int) { w.b = append(w.b, g.Items[i]...) })
	w.list("outputs", len(g.Outputs), func(i int) {
		w.begin()
		w.number("index", int64(g.Outputs[i].Index))
		w.document("value", g.Outputs[i].Value)
		w.end()
	})
	w.count("concurrency", g.Concurrency)
	w.list("flows", len(g.Flows), func(i int) { g.Flows[i].write(w) })
	w.list("children", len(g.Children), func(i int) {
		w.begin()
		w.number("id", int64(g.Children[i].ID))
		w.number("index", int64(g.Children[i].Index))
		w.document("input", g.Children[i].Input)
		w.end()
	})
	w.count("failed", g.Failed)
	if g.MapRun != "" {
		w.text("map_run", g.MapRun)
	}
	if g.TolerateCount != nil {
		w.number("tolerate_count", *g.TolerateCount)
	}
	if g.ToleratePart != nil {
		w.key("tolerate_part")
		w.b = rawjson.AppendFloat(w.b, *g.ToleratePart)
	}
	w.end()
}
