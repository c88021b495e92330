package registry

import (
	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/charter"
)

// Passes is the highest risk at which work of this confidence needs no person;
// empty: none. reviewed: another worker has looked at it.
func (c Confidence) Passes(given outerloop.Confidence, reviewed bool) charter.Risk {
	switch {
	case given == outerloop.ConfidenceHigh && reviewed:
		return c.HighReviewed
	case given == outerloop.ConfidenceHigh:
		return c.High
	case given == outerloop.ConfidenceMedium && reviewed:
		return c.MediumReviewed
	case given == outerloop.ConfidenceMedium:
		return c.Medium
	case reviewed:
		return c.LowReviewed
	}
	return c.Low
}
