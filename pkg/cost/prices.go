package cost

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"
)

//go:embed prices.json
var pricesFile []byte

// Table is a price list of one day, and the quantities that the declarations do
// not say (how long a worker runs, how many units a step writes).
type Table struct {
	// AsOf is the day of the list, Region and Source where it is from.
	AsOf     string `json:"as_of"`
	Region   string `json:"region"`
	Currency string `json:"currency"`
	Source   string `json:"source"`
	// Prices are by what is bought.
	Prices map[string]Price `json:"prices"`
	// Measured says which quantities were measured, how and when.
	Measured string `json:"measured"`
	// Quantities are each named for what they count.
	Quantities map[string]float64 `json:"quantities"`
}

// Price is an amount for a number of units.
type Price struct {
	USD  float64 `json:"usd"`
	Per  float64 `json:"per"`
	Unit string  `json:"unit"`
}

// Prices is the list that comes with the program.
func Prices() *Table { return embedded() }

var embedded = sync.OnceValue(func() *Table {
	t, err := ReadPrices(pricesFile)
	if err != nil {
		panic("cost: the embedded price list is broken: " + err.Error())
	}
	return t
})

// ReadPrices reads a price list of the form of prices.json. Every price and
// quantity that an estimate uses must be in it.
func ReadPrices(data []byte) (*Table, error) {
	var t Table
	if err := json.Unmarshal(data, &t); err != nil {
		return nil, fmt.Errorf("reading price list: %w", err)
	}
	for _, name := range priceNames {
		if p, ok := t.Prices[name]; !ok || p.Per <= 0 || p.USD < 0 {
			return nil, fmt.Errorf("reading price list: the price of %s is missing or not above zero", name)
		}
	}
	for _, name := range quantityNames {
		if q, ok := t.Quantities[name]; !ok || q < 0 {
			return nil, fmt.Errorf("reading price list: the quantity %s is missing or below zero", name)
		}
	}
	if t.AsOf == "" || t.Currency != "USD" {
		return nil, fmt.Errorf("reading price list: as_of is missing or currency is not USD")
	}
	return &t, nil
}

var priceNames = []string{
	"transition", "lambda_request", "lambda_gb_second", "write_unit", "read_unit", "queue_request", "schedule_fire",
	"log_gb", "alarm_month", "metric_month",
}

var quantityNames = []string{
	"worker_seconds_go", "worker_seconds_agent", "worker_seconds_other", "worker_gb", "gate_seconds", "gate_gb",
	"gate_calls_a_step", "write_units_a_step", "read_units_a_step", "write_units_a_run", "queue_requests_a_step",
	"log_kb_a_step", "idle_receives_a_queue", "metrics_a_stack", "alarms_a_stack",
	"watch_rounds_a_month", "watch_seconds", "watch_gb", "watch_read_units", "watch_write_units", "model_input_tokens",
	"model_tool_tokens", "bytes_a_token",
}

// of is what n units cost. The names are those that ReadPrices demands.
func (t *Table) of(name string, n float64) float64 {
	p := t.Prices[name]
	return n * p.USD / p.Per
}

func (t *Table) quantity(name string) float64 { return t.Quantities[name] }
