package stack

import (
	"fmt"
	"slices"
	"strings"
)

// unreserved is what an account must leave unreserved.
const unreserved = 100

// hookReserved bounds the public receiver, and with it what somebody can make it cost.
const hookReserved = 10

// concurrency is how many executions may run at one time, by function.
type concurrency struct {
	// Workers are bounds of the queues' mappings and the gates' counts.
	Workers map[string]int
	// Gates are reserved; empty where the account's limit is not known or leaves no room.
	Gates map[string]int
	// Hook is reserved likewise; 0: nothing.
	Hook int
	// Sum is what workers and gates may take together.
	Sum int
	// Note says what was not reserved and why; empty: nothing to say.
	Note string
}

// gateOf is how often a worker's gate may run at one time: each attempt is at
// one call, and a heartbeat may come beside it.
func gateOf(atOnce int) int { return atOnce + 1 }

// count adds up what the workers may take and compares it with the account's
// limit; 0 is not known. Errors: ErrConcurrency.
func count(units []unit, limit int) (concurrency, error) {
	c := concurrency{Workers: map[string]int{}, Gates: map[string]int{}}
	gates := 0
	for _, u := range units {
		c.Workers[u.Name] = max(2, u.AtOnce) // the least that an event source mapping takes
		gates += gateOf(c.Workers[u.Name])
		c.Sum += c.Workers[u.Name] + gateOf(c.Workers[u.Name])
	}
	if limit == 0 {
		return c, nil
	}
	if c.Sum > limit {
		return c, fmt.Errorf("%w: workers and their gates may run %d at one time, the account %d; lower at_once in charters (most: %s), "+
			"deploy fewer loops (-c loops=…), or ask AWS for more", ErrConcurrency, c.Sum, limit, strings.Join(most(c.Workers, 3), ", "))
	}
	if gates+hookReserved+unreserved > limit {
		c.Note = fmt.Sprintf("No concurrency is reserved for gates: they would need %d, and of the account's %d at least %d must stay unreserved.", gates+hookReserved, limit, unreserved)
		return c, nil
	}
	c.Hook = hookReserved
	for name, n := range c.Workers {
		c.Gates[name] = gateOf(n)
	}
	return c, nil
}

// most are the workers with the greatest bounds.
func most(workers map[string]int, n int) []string {
	names := make([]string, 0, len(workers))
	for name := range workers {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if workers[a] != workers[b] {
			return workers[b] - workers[a]
		}
		return strings.Compare(a, b)
	})
	names = names[:min(n, len(names))]
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, workers[name])
	}
	return names
}
