package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/problem"
	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/revision"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// versions are the loops whose meaning has changed since they were compiled,
// while their version, or a charter's, has not.
func (o opened) versions(names ...string) problem.Problems {
	var found problem.Problems
	for _, name := range names {
		machine, err := os.ReadFile(o.machinePath(name))
		if err != nil {
			continue // not compiled yet: nothing to compare with
		}
		for _, p := range revision.Check(o.Loops[name], machine, project.LoopDir+"/"+name+machineSuffix) {
			same := func(q problem.Problem) bool { return p.Path == q.Path && p.Line == q.Line && p.Code == q.Code }
			if !slices.ContainsFunc(found, same) { // a charter of several loops is told once
				found = append(found, p)
			}
		}
	}
	return found
}

// current refuses a loop whose declaration means something else than what its
// machine was compiled of: the machine's states would run by the new rules. A
// machine that was edited by hand, its stamps as they were, is current.
func (o opened) current(name string) error {
	def, err := o.loop(name)
	if err != nil {
		return err
	}
	machine, err := os.ReadFile(o.machinePath(name))
	if err != nil {
		return fmt.Errorf("reading the machine of %s: %w", name, err)
	}
	if changed := o.versions(name); changed.Err() != nil {
		return &exit{code: ExitUsage, err: changed, remedies: []string{"nothing was started; put the declaration right, then: outerloop compile " + name}}
	}
	was := map[string]string{}
	for _, s := range revision.Read(machine) {
		was[string(s.Sort)+" "+s.Name] = s.Meaning
	}
	for _, now := range revision.Stamps(def) {
		id := string(now.Sort) + " " + now.Name
		if meaning, known := was[id]; len(was) > 0 && (!known || meaning != now.Meaning) {
			return usage(fmt.Sprintf("%s was compiled before %s became what it is now; nothing was started", o.machinePath(name), id), "outerloop compile "+name)
		}
	}
	return nil
}

// allCurrent is current for every loop that has a machine: what starts runs of
// any of them refuses to begin.
func (o opened) allCurrent() error {
	if changed := o.versions(o.Names()...); changed.Err() != nil {
		return &exit{code: ExitUsage, err: changed, remedies: []string{"nothing was started; put the declarations right, then: outerloop compile"}}
	}
	for _, name := range o.Names() {
		if _, err := os.Stat(o.machinePath(name)); err != nil {
			continue // not compiled: it cannot be started
		}
		if err := o.current(name); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) diffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Say what changed in meaning, and whether a version must rise",
		Long: `Compares two versions of a loop, a charter or a project file, place by place, and says
whether the change needs a new version (a project file has none). OLD and NEW are two files,
or the directories of two projects: then all loops and charters and the project files are
compared, with the content of their schemas and prompts (of two files, only the paths are). Comments, the order of keys, alert, baseline, score and because
are wording, which needs no new version.

Exit code 0 when no version has to rise, 1 when one must.`,
		Example: `  outerloop diff old.loop.yaml statemachines/crm-followup.loop.yaml   # git show HEAD:FILE > old.loop.yaml
  outerloop diff ../main . -o json       # two checkouts of a project`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage(fmt.Sprintf("%s needs OLD and NEW, two files or two projects", cmd.CommandPath()), "usage: "+cmd.UseLine())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.diff(args[0], args[1]) },
	}
}

func (a *app) diff(before, after string) error {
	old, err := a.sides(before)
	if err != nil {
		return err
	}
	now, err := a.sides(after)
	if err != nil {
		return err
	}
	if len(old) == 1 && len(now) == 1 && (old[0].Sort != now[0].Sort || old[0].Name != now[0].Name) {
		return usage(fmt.Sprintf("%s is the %s %s, %s the %s %s", before, old[0].Sort, old[0].Name, after, now[0].Sort, now[0].Name),
			"name two versions of one declaration")
	}
	list := revision.CompareAll(old, now)
	if a.asJSON() {
		err = a.writeJSON(list)
	} else {
		a.printDifferences(list)
	}
	if err != nil {
		return err
	}
	for _, d := range list {
		if d.Bump == revision.BumpNeeded || d.Bump == revision.BumpBack {
			return silent(ExitFailed)
		}
	}
	return nil
}

// sides are the declarations of a file or of a project's directory.
func (a *app) sides(name string) ([]revision.Side, error) {
	path := a.path(name)
	info, err := os.Stat(path)
	if err != nil {
		return nil, usage(fmt.Sprintf("there is no %s", name), "name two files or two directories of projects")
	}
	if info.IsDir() {
		return projectSides(path, name)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	node, problems := source.Read(name, raw)
	if err := problems.Err(); err != nil {
		return nil, &exit{code: ExitUsage, err: err}
	}
	tree, ok := node.Plain().(map[string]any)
	if ok {
		if side, ok := revision.SideOf(tree); ok {
			return []revision.Side{side}, nil
		}
	}
	return nil, usage(name+" is none of a loop, a charter and a project file",
		"a loop begins with `loop: NAME`, a charter with `worker: NAME`, a project file with `project: NAME`")
}

func projectSides(path, name string) ([]revision.Side, error) {
	p, problems := project.Open(path)
	if err := problems.Err(); err != nil {
		return nil, &exit{code: ExitUsage, err: fmt.Errorf("%s cannot be compared:\n%w", name, err)}
	}
	sides := []revision.Side{{Sort: revision.SortProject, Name: p.Registry.Name, Tree: revision.ProjectTree(p.Registry)}}
	for _, name := range p.Names() {
		sides = append(sides, revision.Side{Sort: revision.SortLoop, Name: name, Tree: revision.LoopTree(p.Loops[name])})
	}
	for name, w := range p.Workers {
		sides = append(sides, revision.Side{Sort: revision.SortCharter, Name: name, Tree: revision.CharterTree(w)})
	}
	return sides, nil
}

func (a *app) printDifferences(list []revision.Difference) {
	if len(list) == 0 {
		a.say("nothing has changed in meaning")
		return
	}
	for i, d := range list {
		if i > 0 {
			a.say("")
		}
		a.say("%s  %s", a.bold(d.ID), a.bumpWords(d))
		for _, c := range d.Changes {
			a.printChange(c)
		}
	}
}

func (a *app) bumpWords(d revision.Difference) string {
	versions := fmt.Sprintf("version %d to %d", d.OldVersion, d.NewVersion)
	switch d.Bump {
	case revision.BumpNeeded:
		return a.red(fmt.Sprintf("the meaning changed: write version %d", d.OldVersion+1))
	case revision.BumpBack:
		return a.red(fmt.Sprintf("%s: versions only rise", versions))
	case revision.BumpDone:
		return a.green(versions)
	}
	if d.Sort == revision.SortProject && d.Meaning {
		return "the project file, which has no version"
	}
	return a.dim("wording only: the version may stay")
}

func (a *app) printChange(c revision.Change) {
	sign := map[revision.ChangeKind]string{revision.Added: "+", revision.Removed: "-", revision.Changed: "~"}[c.Kind]
	values := plain(string(c.Old)) + " -> " + plain(string(c.New))
	switch c.Kind {
	case revision.Added:
		values = plain(string(c.New))
	case revision.Removed:
		values = plain(string(c.Old))
	}
	const most = 160
	line := fmt.Sprintf("  %s %s: %s", sign, c.ID, cut(values, most))
	if strings.HasPrefix(c.ID, "defaults.") {
		line += "  (for every step that does not say otherwise)"
	}
	if !c.Meaning {
		line = a.dim(line + "  (wording)")
	}
	a.say("%s", line)
}
