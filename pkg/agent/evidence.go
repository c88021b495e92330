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
func cited(evidence []gate.Evidence, sources []string, calls []Made) error {
	var faults []schema.Fault
	for i, e := range evidence {
		if exists(e.Source, sources, calls) {
			continue
		}
		faults = append(faults, schema.Fault{
			Path: schema.Pointer("evidence", fmt.Sprint(i), "source"), Keyword: "source",
			Message: "names no data of this task; allowed are " + strings.Join(sources, ", ") + " and their fields. Without a source, the claim must not be made",
		})
	}
	if len(faults) > 0 {
		return invalid(faults...)
	}
	return nil
}

func exists(source string, sources []string, calls []Made) bool {
	for _, known := range sources {
		if source == known || strings.HasPrefix(source, known+".") || strings.HasPrefix(source, known+"[") {
			return true
		}
	}
	name, isCall := strings.CutPrefix(source, "calls.")
	return isCall && slices.ContainsFunc(calls, func(m Made) bool { return m.Worker == name && m.Outcome == CallDone })
}
