package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// cited checks that each source of the evidence is data that the model was
// given, and names every claim whose source is not (R27). Whether the data says
// what is claimed is for a reviewer and the gate.
func cited(evidence []gate.Evidence, prompt Rendered, calls []Made) error {
	var faults []schema.Fault
	for i, e := range evidence {
		if exists(e.Source, prompt.Values, calls) {
			continue
		}
		faults = append(faults, schema.Fault{
			Path: schema.Pointer("evidence", fmt.Sprint(i), "source"), Keyword: "source",
			Message: "names no data of this task; allowed are " + strings.Join(prompt.Sources, ", ") + ", their fields and elements. Without a source, the claim must not be made",
		})
	}
	if len(faults) > 0 {
		return invalid(faults...)
	}
	return nil
}

func exists(source string, values map[string]any, calls []Made) bool {
	for name, value := range values {
		if gate.Cites(source, name, value) {
			return true
		}
	}
	name, isCall := strings.CutPrefix(source, "calls.")
	return isCall && slices.ContainsFunc(calls, func(m Made) bool { return m.Worker == name && m.Outcome == CallDone })
}
