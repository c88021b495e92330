package telemetry_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/telemetry"
)

// One line is one JSON object with its metrics at the root.
func TestEmit(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	e := telemetry.EMF{Out: &out, Namespace: "Outerloop", Now: func() time.Time { return time.UnixMilli(1796022000000) }}
	err := e.Emit(map[string]string{"Project": "acme"}, map[string]any{"looked": 7},
		telemetry.Metric{Name: "Watched", Unit: telemetry.Count, Value: 1}, telemetry.Metric{Name: "BudgetUsed", Unit: telemetry.Percent, Value: 12.5})
	want := `{"BudgetUsed":12.5,"Project":"acme","Watched":1,"_aws":{"CloudWatchMetrics":[{"Dimensions":[["Project"]],"Metrics":` +
		`[{"Name":"Watched","Unit":"Count"},{"Name":"BudgetUsed","Unit":"Percent"}],"Namespace":"Outerloop"}],"Timestamp":1796022000000},"looked":7}` + "\n"
	if err != nil || out.String() != want {
		t.Errorf("%v\n%s\n%s", err, out.String(), want)
	}
	many := make([]telemetry.Metric, 101)
	for _, err := range []error{
		e.Emit(nil, nil), e.Emit(nil, nil, many...),
		e.Emit(map[string]string{"A": "x"}, nil, telemetry.Metric{Name: "A"}), e.Emit(nil, map[string]any{"_aws": 1}, telemetry.Metric{Name: "A"}),
	} {
		if !errors.Is(err, telemetry.ErrMetrics) {
			t.Errorf("%v", err)
		}
	}
}
