package asl

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

func (l *loader) passState(o *object, s *state) {
	if v, ok := o.get("Result"); ok {
		s.result = v
	}
}

func (l *loader) taskState(o *object, s *state) {
	s.task = &taskSpec{}
	o.require("Resource")
	if arn, ok := o.text("Resource"); ok {
		r, valid := ParseResource(arn)
		if !valid {
			l.schema(o.at("Resource"), "Value is not a valid resource ARN: %q", arn)
		}
		if l.kind == Express && (r.Kind == Activity || r.Pattern != RequestResponse) {
			what := "." + string(r.Pattern)
			if r.Kind == Activity {
				what = "activity"
			}
			l.schema(o.at("Resource"), "Express state machine does not support '%s' service integration", what)
		}
		s.task.resource = r
		if !l.seen[arn] {
			l.seen[arn] = true
			l.machine.resources = append(l.machine.resources, r)
		}
	}
	s.task.timeout = o.seconds("TimeoutSeconds")
	s.task.heartbeat = o.seconds("HeartbeatSeconds")
	if t, h := s.task.timeout.value, s.task.heartbeat.value; t > 0 && h >= t {
		l.schema(o.at("HeartbeatSeconds"), "Value must be smaller than TimeoutSeconds, %d, but is %d", t, h)
	}
}

// seconds reads a number of seconds or its Path form.
func (o *object) seconds(field string) secondsField {
	o.only(false, field, field+"Path")
	f := secondsField{field: field + "Path"}
	if n, ok := o.whole(field, 1, maxTimeout); ok {
		f.value = n
	}
	if f.path = o.expression(field+"Path", false); f.path != nil {
		f.text = f.path.String()
	}
	return f
}

// number reads a number or its Path form.
func (o *object) number(field string, check func(v []byte) string) numberField {
	o.only(false, field, field+"Path")
	var f numberField
	if v, ok := o.get(field); ok {
		if why := check(v); why != "" {
			o.l.schema(o.at(field), "%s", why)
		} else {
			f.value = v
		}
	}
	if f.path = o.expression(field+"Path", false); f.path != nil {
		f.text = f.path.String()
	}
	return f
}

func wholeFrom(least int64) func(v []byte) string {
	return func(v []byte) string {
		if n, ok := rawjson.Int(v); !ok || n < least {
			return fmt.Sprintf("Value must be an integer of at least %d", least)
		}
		return ""
	}
}

func percentage(v []byte) string {
	if f := rawjson.Float(v); rawjson.KindOf(v) != rawjson.Number || !(f >= 0 && f <= 100) {
		return "Value must be a number from 0 to 100"
	}
	return ""
}

func (l *loader) waitState(o *object, s *state) {
	o.only(true, "Seconds", "SecondsPath", "Timestamp", "TimestampPath")
	w := &waitSpec{}
	s.wait = w
	if _, ok := o.whole("Seconds", 0, maxTimeout); ok {
		w.seconds, _ = o.get("Seconds")
	}
	if at, ok := o.text("Timestamp"); ok {
		if _, valid := parseTimestamp(at); !valid {
			l.schema(o.at("Timestamp"), "String does not match RFC3339 timestamp")
		}
		w.at = at
	}
	if w.secondsPath = o.expression("SecondsPath", false); w.secondsPath != nil {
		w.text = w.secondsPath.String()
	}
	if w.atPath = o.expression("TimestampPath", false); w.atPath != nil {
		w.text = w.atPath.String()
	}
}

func (l *loader) failState(o *object, s *state) {
	o.only(false, "Error", "ErrorPath")
	o.only(false, "Cause", "CausePath")
	s.fail = &failSpec{errPath: o.expression("ErrorPath", true), causePath: o.expression("CausePath", true)}
	if v, ok := o.text("Error"); ok {
		s.fail.err = &v
	}
	if v, ok := o.text("Cause"); ok {
		s.fail.cause = &v
	}
}

func (l *loader) parallelState(o *object, s *state) {
	o.require("Branches")
	for i, v := range o.list("Branches", true) {
		b := l.object(v, fmt.Sprintf("%s[%d]", o.at("Branches"), i))
		if b == nil {
			continue
		}
		b.allow("StartAt", "States", "Comment", "QueryLanguage")
		b.queryLanguage()
		if inner := l.block(b); inner != nil {
			s.branches = append(s.branches, inner)
		}
	}
}

func (l *loader) mapState(o *object, s *state) {
	o.only(true, "ItemProcessor", "Iterator")
	o.only(false, "ItemSelector", "Parameters")
	spec := &mapSpec{childType: Standard}
	s.mapping = spec
	spec.itemsPath = o.expression("ItemsPath", false)
	if o.has("ItemSelector") {
		s.parameters = o.template("ItemSelector")
	}
	for _, field := range []string{"ItemProcessor", "Iterator"} {
		if p, ok := o.child(field); ok {
			l.processor(p, s)
		}
	}
	o.only(false, "MaxConcurrency", "MaxConcurrencyPath")
	if n, ok := o.whole("MaxConcurrency", 0, maxTimeout); ok {
		spec.concurrency.value = n
	}
	if spec.concurrency.path = o.expression("MaxConcurrencyPath", false); spec.concurrency.path != nil {
		spec.concurrency.text = spec.concurrency.path.String()
	}
	spec.tolerateCount = o.number("ToleratedFailureCount", wholeFrom(0))
	spec.toleratePart = o.number("ToleratedFailurePercentage", percentage)
	if label, ok := o.text("Label"); ok {
		if n := utf8.RuneCountInString(label); n == 0 || n > 40 || strings.ContainsAny(label, " ?*<>{}[]:;,\\|^~$#%&`\"") {
			l.schema(o.at("Label"), "Value is not a valid label: %q", label)
		}
		spec.label = label
	}
	l.batcher(o, spec)
}

// processor reads ItemProcessor or Iterator.
func (l *loader) processor(o *object, s *state) {
	o.allow("StartAt", "States", "ProcessorConfig", "Comment", "QueryLanguage")
	o.queryLanguage()
	if c, ok := o.child("ProcessorConfig"); ok {
		c.allow("Mode", "ExecutionType")
		mode, _ := c.text("Mode")
		s.mapping.distributed = mode == "DISTRIBUTED"
		if c.has("Mode") && mode != "DISTRIBUTED" && mode != "INLINE" {
			l.schema(c.at("Mode"), "Value must be INLINE or DISTRIBUTED but is %q", mode)
		}
		kind, given := c.text("ExecutionType")
		if given {
			s.mapping.childType = Type(kind)
		}
		if given && kind != string(Standard) && kind != string(Express) {
			l.schema(c.at("ExecutionType"), "Value must be STANDARD or EXPRESS but is %q", kind)
		}
	}
	if s.mapping.distributed && l.kind == Express {
		l.schema(o.at("ProcessorConfig"), "Express state machine does not support distributed Map")
	}
	outer := l.kind
	if s.mapping.distributed {
		l.kind = s.mapping.childType
	}
	s.mapping.body = l.block(o)
	l.kind = outer
}

func (l *loader) batcher(o *object, spec *mapSpec) {
	b, ok := o.child("ItemBatcher")
	if !ok {
		return
	}
	if !spec.distributed {
		l.schema(o.at("ItemBatcher"), "Field is supported in distributed mode only")
	}
	b.allow("BatchInput", "MaxItemsPerBatch", "MaxItemsPerBatchPath", "MaxInputBytesPerBatch", "MaxInputBytesPerBatchPath")
	spec.batch = &batchSpec{
		maxItems: b.number("MaxItemsPerBatch", wholeFrom(1)),
		maxBytes: b.number("MaxInputBytesPerBatch", wholeFrom(1)),
		input:    b.template("BatchInput"),
	}
	if !spec.batch.maxItems.set() && !spec.batch.maxBytes.set() {
		l.schema(b.path, "One of these fields is required: [MaxInputBytesPerBatch, MaxItemsPerBatch]")
	}
}
