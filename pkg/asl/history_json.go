package asl

import (
	"encoding/json"
	"strconv"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// MarshalJSON returns the event as `aws stepfunctions get-execution-history`
// prints it, on one line.
func (h HistoryEvent) MarshalJSON() ([]byte, error) {
	return h.AppendJSON(make([]byte, 0, 256)), nil
}

// AppendJSON appends what MarshalJSON returns.
func (h HistoryEvent) AppendJSON(b []byte) []byte {
	b = append(b, `{"timestamp":"`...)
	b = h.Time.UTC().AppendFormat(b, "2006-01-02T15:04:05.000000-07:00")
	b = append(b, `","type":"`...)
	b = append(append(b, h.Type...), `","id":`...)
	b = strconv.AppendInt(b, h.ID, 10)
	b = append(b, `,"previousEventId":`...)
	b = strconv.AppendInt(b, h.PreviousID, 10)
	if key := h.Type.detailsKey(); key != "" && h.Details != nil {
		b = append(append(append(b, `,"`...), key...), `":`...)
		b = h.Details.append(b)
	}
	return append(b, '}')
}

// fieldWriter writes the members of one object.
type fieldWriter struct {
	b     []byte
	first bool
}

func (w *fieldWriter) key(name string) {
	if !w.first {
		w.b = append(w.b, ',')
	}
	w.first = false
	w.b = append(append(append(w.b, '"'), name...), `":`...)
}

func (w *fieldWriter) text(name, value string) {
	if value != "" {
		w.key(name)
		w.b = rawjson.AppendString(w.b, value)
	}
}

func (w *fieldWriter) pointer(name string, value *string) {
	if value != nil {
		w.key(name)
		w.b = rawjson.AppendString(w.b, *value)
	}
}

func (w *fieldWriter) number(name string, value int64) {
	w.key(name)
	w.b = strconv.AppendInt(w.b, value, 10)
}

func (w *fieldWriter) document(name string, value json.RawMessage) {
	if value == nil {
		return
	}
	w.key(name)
	w.b = rawjson.AppendString(w.b, string(value))
	if name != "parameters" {
		w.key(name + "Details")
		w.b = append(w.b, `{"truncated":false}`...)
	}
}

func (d *HistoryDetails) append(b []byte) []byte {
	w := &fieldWriter{b: append(b, '{'), first: true}
	w.text("name", d.Name)
	w.text("resourceType", d.ResourceType)
	w.text("resource", d.Resource)
	w.text("region", d.Region)
	w.document("parameters", d.Parameters)
	w.document("input", d.Input)
	w.document("output", d.Output)
	if len(d.Assigned) > 0 {
		w.key("assignedVariables")
		w.b = appendVariables(w.b, d.Assigned)
		w.key("assignedVariablesDetails")
		w.b = append(w.b, `{"truncated":false}`...)
	}
	if d.Timeout > 0 {
		w.number("timeoutInSeconds", d.Timeout)
	}
	if d.Heartbeat > 0 {
		w.number("heartbeatInSeconds", d.Heartbeat)
	}
	w.text("workerName", d.WorkerName)
	if d.Length != nil {
		w.number("length", int64(*d.Length))
	}
	if d.Index != nil {
		w.number("index", int64(*d.Index))
	}
	w.text("mapRunArn", d.MapRun)
	w.text("roleArn", d.RoleARN)
	w.pointer("error", d.Error)
	w.pointer("cause", d.Cause)
	return append(w.b, '}')
}

func appendVariables(b []byte, vars []Variable) []byte {
	b = append(b, '{')
	for i, v := range vars {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rawjson.AppendString(b, v.Name), ':')
		b = rawjson.AppendString(b, string(v.Value))
	}
	return append(b, '}')
}

// detailsKey is the member that holds the details of the type; "" for none.
func (h HistoryType) detailsKey() string {
	switch h {
	case historyMapRunSucceeded, historyMapRunAborted, "ParallelStateStarted", "ParallelStateSucceeded",
		"MapStateSucceeded", "ParallelStateAborted", "MapStateAborted", "TaskStateAborted", "WaitStateAborted",
		"ParallelStateFailed", "MapStateFailed", "LambdaFunctionStarted":
		return ""
	}
	name := string(h)
	for _, suffix := range []string{"StateEntered", "StateExited"} {
		if n := len(name) - len(suffix); n > 0 && name[n:] == suffix {
			name = suffix
		}
	}
	return string(name[0]+'a'-'A') + name[1:] + "EventDetails"
}
