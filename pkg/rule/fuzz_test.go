package rule_test

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop/pkg/rule"
)

// The parts of a template are the template again, and a text without ${ is itself.
func FuzzParseTemplate(f *testing.F) {
	for _, s := range []string{"a ${x.y} b", "$${x}", `${"}"}`, "${", "${ {} }", `${'''}'''}`, "${r\"\\\"}", "$$${a}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parts, faults := rule.ParseTemplate(text)
		if faults != nil {
			if faults[0].Offset > len(text) || faults[0].Line < 1 || faults[0].Column < 1 {
				t.Errorf("%q: %+v", text, faults[0])
			}
			return
		}
		var again strings.Builder
		for _, p := range parts {
			if p.Expr == "" {
				again.WriteString(strings.ReplaceAll(p.Text, "${", "$${"))
				continue
			}
			if text[p.Offset:p.Offset+len(p.Expr)] != p.Expr {
				t.Errorf("%q: the offset %d is not that of %q", text, p.Offset, p.Expr)
			}
			again.WriteString("${" + p.Expr + "}")
		}
		if again.String() != text {
			t.Errorf("%q became %q", text, again.String())
		}
	})
}

// Whatever is written, compiling ends with a program or with faults that point into the source; a program evaluates without
// panic, and its references lie in the source.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{
		`scan.read == scan.open`, `default(send.message_id, "x")`, `scan.stale.all(d, d.id != "")`, `sum(scan.prices) * 2`, `any.x[0]["k"] + 1`,
		`{"a": [run.as_of]}`, `scan.stale[0] == any`, `1 + 1.5 > scan.maybe ? "a" : any`, `"${x}"`, `has(any.x.y)`, "a.\u00e4", `next(run.as_of, "Thu 10:00")`,
		`scan.total in scan.counts`, `math.greatest(scan.read, 1.5)`, `default(scan.best, {}).name`,
	} {
		f.Add(s)
	}
	e, vars := environment(f), data(f)
	f.Fuzz(func(t *testing.T, source string) {
		p, faults := e.Compile(source)
		for _, fault := range faults {
			if fault.Offset < 0 || fault.Offset > len(source) || fault.Message == "" || fault.Line < 1 || fault.Column < 1 {
				t.Errorf("%q: %+v", source, fault)
			}
		}
		if p == nil {
			if len(faults) == 0 {
				t.Errorf("%q: neither program nor fault", source)
			}
			return
		}
		for _, r := range p.References() {
			if r.Offset < 0 || r.Offset+r.Length > len(source) {
				t.Errorf("%q: %+v", source, r)
			}
		}
		if p.Type() == nil {
			t.Errorf("%q has no type", source)
		}
		if v, err := p.Eval(context.Background(), vars); err == nil && utf8.ValidString(source) {
			if s, ok := v.(string); ok && !utf8.ValidString(s) {
				t.Errorf("%q gives invalid text", source)
			}
		}
		if _, err := p.Decide(context.Background(), vars); err != nil && strings.Contains(err.Error(), "internal error") {
			t.Errorf("%q: %v", source, err)
		}
		if _, faults := rule.References(source); faults != nil {
			t.Errorf("%q: compiles, but has no references: %v", source, faults)
		}
	})
}
