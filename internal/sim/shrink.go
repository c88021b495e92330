package sim

// Shrink drops faults from a failing seed as long as it fails in the same way,
// and gives the options under which it does with the fewest; tries bounds the
// runs.
func Shrink(seed uint64, o Options, tries int) (Options, *Broken) {
	first := New(seed, o)
	broken := first.Run()
	if broken == nil {
		return o, nil
	}
	best := o
	fails := func(drop []int) bool {
		tries--
		with := o
		with.Drop = drop
		s := New(seed, with)
		got := s.Run()
		if got == nil || got.Invariant != broken.Invariant {
			return false
		}
		best, broken = with, got
		return true
	}
	for n := first.FaultsFallen() - 1; n >= 0 && tries > 0; n-- {
		fails(append(append([]int{}, best.Drop...), n))
	}
	return best, broken
}
