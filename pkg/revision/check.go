package revision

import (
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/problem"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// Check compares a loop with its committed machine: a changed meaning under an
// unchanged version is a problem, and so is a version that went back. A machine
// without stamps, or none, checks nothing. where names the machine's file.
func Check(d *loop.Definition, machine []byte, where string) problem.Problems {
	type key struct {
		sort Sort
		name string
	}
	was := map[key]Stamp{}
	for _, s := range Read(machine) {
		was[key{s.Sort, s.Name}] = s
	}
	var out problem.Problems
	for _, now := range Stamps(d) {
		before, known := was[key{now.Sort, now.Name}]
		if !known {
			continue
		}
		if p, wrong := compare(before, now, place(d, now), where); wrong {
			out = append(out, p)
		}
	}
	return out
}

func place(d *loop.Definition, s Stamp) *source.Node {
	if s.Sort == SortLoop {
		return d.Loop.Source.Find("version")
	}
	return d.Workers[s.Name].Charter.Source.Find("version")
}

func compare(before, now Stamp, at *source.Node, where string) (problem.Problem, bool) {
	var p problem.Problem
	switch {
	case now.Version < before.Version:
		p = at.Problem("E261", fmt.Sprintf("%s was compiled as version %d already: a lower number would name two things. Write a number above %d.", now.Name, before.Version, before.Version))
	case now.Version == before.Version && now.Meaning != before.Meaning:
		p = at.Problem("E260", fmt.Sprintf("%s has changed in meaning since version %d was compiled. Write version %d and compile; `outerloop diff` shows what changed. If version %d never ran anywhere, delete %s and compile again.", now.Name, now.Version, now.Version+1, now.Version, where))
	default:
		return p, false
	}
	p.See = where
	return p, true
}
