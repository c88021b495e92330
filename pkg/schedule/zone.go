package schedule

import (
	"fmt"
	"sync"
	"time"
)

var zones sync.Map // name → *time.Location

// Zone loads an IANA time zone by name, once in a process. "Local" and "" are refused: the host's zone never matters.
func Zone(name string) (*time.Location, error) {
	if z, ok := zones.Load(name); ok {
		return z.(*time.Location), nil
	}
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("%q is no time zone; write an IANA name such as Europe/Berlin or UTC", name)
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%q is no time zone that is known here; write an IANA name such as Europe/Berlin or UTC", name)
	}
	zones.Store(name, z)
	return z, nil
}
