package coordinator

import (
	"sync"
	"time"
)

// zones are the time zones of projects by name: reading one takes as long as
// the rest of a start.
var zones zoneTable

type zoneTable struct{ known sync.Map }

// named gives a zone; nil where the name is empty or unknown.
func (z *zoneTable) named(name string) *time.Location {
	if name == "" {
		return nil
	}
	if known, ok := z.known.Load(name); ok {
		return known.(*time.Location)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	z.known.Store(name, zone)
	return zone
}
