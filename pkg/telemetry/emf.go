// Package telemetry writes metrics where CloudWatch finds them: as lines of the
// embedded metric format in a function's log.
package telemetry

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// Unit is what a metric counts in, a word of CloudWatch.
type Unit string

// Units.
const (
	Count   Unit = "Count"
	Percent Unit = "Percent"
	Seconds Unit = "Seconds"
)

// Metric is one number now.
type Metric struct {
	Name  string
	Unit  Unit
	Value float64
}

// EMF writes metrics. Every distinct set of dimension values is a metric that
// is paid for by the month: a run, step or version is never one of them, but a
// property.
type EMF struct {
	Out       io.Writer
	Namespace string
	Now       func() time.Time
}

// maxMetrics is how many metrics one line may have.
const maxMetrics = 100

// ErrMetrics says that metrics cannot be written in the format.
var ErrMetrics = errors.New("metrics do not fit the format")

// Emit writes one line with the metrics under one set of dimensions; properties
// stand beside them for queries. CloudWatch takes a line at least once: nothing
// is to be billed by it. Error: ErrMetrics for over 100 metrics, and for a name
// that stands for two things.
func (e EMF) Emit(dimensions map[string]string, properties map[string]any, metrics ...Metric) error {
	if len(metrics) == 0 || len(metrics) > maxMetrics {
		return fmt.Errorf("%w: %d in one line", ErrMetrics, len(metrics))
	}
	type declared struct {
		Name string
		Unit Unit
	}
	line := map[string]any{}
	add := func(name string, value any) error {
		if _, taken := line[name]; taken || name == "" || name == "_aws" {
			return fmt.Errorf("%w: the name %q is taken", ErrMetrics, name)
		}
		line[name] = value
		return nil
	}
	var faults []error
	list := make([]declared, len(metrics))
	for i, m := range metrics {
		list[i] = declared{m.Name, m.Unit}
		faults = append(faults, add(m.Name, m.Value))
	}
	for name, value := range dimensions {
		faults = append(faults, add(name, value))
	}
	for name, value := range properties {
		faults = append(faults, add(name, value))
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	line["_aws"] = map[string]any{
		"Timestamp": e.Now().UnixMilli(),
		"CloudWatchMetrics": []any{map[string]any{
			"Namespace": e.Namespace, "Dimensions": [][]string{slices.Sorted(maps.Keys(dimensions))}, "Metrics": list,
		}},
	}
	return json.NewEncoder(e.Out).Encode(line)
}
