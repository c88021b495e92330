package asl

import (
	"fmt"
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// retriers reads Retry.
func (o *object) retriers() []retrier {
	list := o.list("Retry", false)
	out := make([]retrier, 0, len(list))
	for i, v := range list {
		r := o.l.object(v, fmt.Sprintf("%s[%d]", o.at("Retry"), i))
		if r == nil {
			continue
		}
		r.allow("ErrorEquals", "IntervalSeconds", "MaxAttempts", "BackoffRate", "MaxDelaySeconds", "JitterStrategy", "Comment")
		out = append(out, r.retrier(i == len(list)-1))
	}
	return out
}

func (o *object) retrier(last bool) retrier {
	r := retrier{errors: o.errorNames(last), interval: 1, maxAttempts: 3, rate: 2}
	if n, ok := o.whole("IntervalSeconds", 0, maxTimeout); ok {
		r.interval = n
	}
	if n, ok := o.whole("MaxAttempts", 0, maxTimeout); ok {
		r.maxAttempts = n
	}
	if n, ok := o.whole("MaxDelaySeconds", 1, 31622400); ok {
		r.maxDelay = n
	}
	if v, ok := o.get("BackoffRate"); ok {
		r.rate = rawjson.Float(v)
		if rawjson.KindOf(v) != rawjson.Number || !(r.rate >= 1) {
			o.l.schema(o.at("BackoffRate"), "Value must be a number of at least 1.0")
			r.rate = 1
		}
	}
	if v, ok := o.text("JitterStrategy"); ok {
		r.jitter = v == "FULL"
		if v != "FULL" && v != "NONE" {
			o.l.schema(o.at("JitterStrategy"), "Value must be FULL or NONE but is %q", v)
		}
	}
	return r
}

// errorNames reads ErrorEquals. States.ALL stands alone and last.
func (o *object) errorNames(last bool) []string {
	o.require("ErrorEquals")
	var names []string
	for i, v := range o.list("ErrorEquals", true) {
		if rawjson.KindOf(v) != rawjson.String {
			o.l.schema(fmt.Sprintf("%s[%d]", o.at("ErrorEquals"), i), "Expected value of type [String]")
			continue
		}
		names = append(names, rawjson.Text(v))
	}
	if slices.Contains(names, errAll) {
		if len(names) > 1 {
			o.l.schema(o.at("ErrorEquals"), "%s must appear alone", errAll)
		}
		if !last {
			o.l.schema(o.at("ErrorEquals"), "%s must appear in the last element only", errAll)
		}
	}
	return names
}

// catchers reads Catch.
func (o *object) catchers() []catcher {
	list := o.list("Catch", false)
	out := make([]catcher, 0, len(list))
	for i, v := range list {
		c := o.l.object(v, fmt.Sprintf("%s[%d]", o.at("Catch"), i))
		if c == nil {
			continue
		}
		c.allow("ErrorEquals", "Next", "ResultPath", "Assign", "Comment")
		c.require("Next")
		out = append(out, catcher{
			errors:     c.errorNames(i == len(list)-1),
			next:       c.target("Next"),
			resultPath: c.resultPath("ResultPath"),
			assign:     c.assign(),
		})
	}
	return out
}
