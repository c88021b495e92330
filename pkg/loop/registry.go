package loop

import (
	"fmt"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/problem"
	"github.com/outerloop-dev/outerloop/pkg/registry"
	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// CheckRegistry checks the schemas that a project file names, and that the
// sensitive fields of facts exist in them (R25).
func CheckRegistry(p *registry.Project, files *Files) problem.Problems {
	var ps problem.Problems
	for _, fact := range p.Facts {
		s, found := files.Schema(fact.Schema)
		ps = append(ps, found...)
		if s != nil {
			ps = append(ps, sensitive(fact, s)...)
		}
	}
	for _, event := range p.Events {
		_, found := files.Schema(event.Schema)
		ps = append(ps, found...)
	}
	for _, webhook := range p.Webhooks {
		_, found := files.Schema(webhook.Body)
		ps = append(ps, found...)
	}
	return ps
}

func sensitive(fact registry.Fact, s *schema.Schema) problem.Problems {
	var ps problem.Problems
	list := fact.Source.Get("sensitive")
	for i, field := range fact.Sensitive {
		if s.Type().Kind == schema.Any {
			return ps
		}
		_, _, err := s.Type().Lookup(strings.Split(field, ".")...)
		if err == nil || i >= len(list.Items) {
			continue
		}
		p := list.Items[i].Problem("E117", fmt.Sprintf("The schema of the fact %s has no field %q%s", fact.Name, field, didYouMean(field, s.Type().FieldNames())))
		p.See = s.Name()
		ps = append(ps, p)
	}
	return ps
}
