package record

import (
	"strconv"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/store"
)

// Condition is one condition that a monitor sees: an item by its key.
type Condition struct {
	// Began is when it was first seen since it was last clear.
	Began time.Time `json:"began"`
	// Holds: the last look saw it.
	Holds bool `json:"holds"`
	// Done: a run was started for it since it began.
	Done bool `json:"done,omitempty"`
	// Fired is when a run was last started for its key.
	Fired time.Time `json:"fired,omitzero"`
}

// Monitor is what the looks of a monitor found so far (R6).
type Monitor struct {
	Loop    string `json:"loop"`
	Trigger int    `json:"trigger"`
	// Looked is when the probe was last asked.
	Looked     time.Time            `json:"looked"`
	Conditions map[string]Condition `json:"conditions"`

	Stored int64 `json:"-"`
}

// MonitorKey addresses a monitor: a loop's trigger by its number.
func MonitorKey(loop string, trigger int) store.Key {
	return store.Key{Part: "MONITOR#" + loop, Sort: strconv.Itoa(trigger)}
}

// DecodeMonitor reads a monitor; nil gives nil.
func DecodeMonitor(item *store.Item) (*Monitor, error) {
	if item == nil {
		return nil, nil
	}
	m := &Monitor{Stored: item.Version}
	return m, decode(item, m)
}

// Put writes the monitor at the version it was read at, or creates it.
func (m *Monitor) Put() store.Op {
	return put(store.Item{Key: MonitorKey(m.Loop, m.Trigger), Version: m.Stored, Body: encode(m)})
}
