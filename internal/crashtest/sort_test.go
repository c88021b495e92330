package crashtest

import "slices"

// sorted puts an outcome in an order that does not depend on time.
func sorted(out outcome) outcome {
	for _, list := range [][]string{out.Runs, out.Steps, out.Actions, out.Approvals} {
		slices.Sort(list)
	}
	return out
}
