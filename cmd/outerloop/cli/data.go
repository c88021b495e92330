package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/exposure"
)

func (a *app) dataCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "data",
		Short: "List who receives each sensitive field: workers, tools, models, people",
		Long: `Follows every field that a fact marks sensitive through the declarations of all loops, and
lists which workers, tools, models and people receive it. Fields that are marked nowhere but
look personal by name or format are followed too, and said to be unmarked. "possibly" means
with what a worker that has the field gives on.`,
		Example: "  outerloop data\n  outerloop data -o json | jq -r '.[] | select(.declared | not).id'",
		Args:    none,
		RunE:    func(*cobra.Command, []string) error { return a.data() },
	}
}

func (a *app) data() error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	fields := exposure.Of(p.Registry, p.Loops)
	if a.asJSON() {
		return a.writeJSON(fields)
	}
	if len(fields) == 0 {
		a.say("no field is marked sensitive, and none looks personal")
		a.say("mark them in outerloop.yaml: facts: {NAME: {schema: …, sensitive: [email]}}")
		return nil
	}
	for i, f := range fields {
		if i > 0 {
			a.say("")
		}
		mark := a.green("marked sensitive")
		if !f.Declared {
			mark = a.yellow("looks personal, not marked")
		}
		a.say("%s  %s", a.bold(f.ID), mark)
		if len(f.Receivers) == 0 {
			a.say("  nobody receives it")
			continue
		}
		a.printReceivers(f.Receivers)
	}
	return nil
}

func (a *app) printReceivers(list []exposure.Receiver) {
	t := table{}
	for _, r := range list {
		sure := ""
		if !r.Certain {
			sure = "possibly"
		}
		name := r.Name
		if r.Detail != "" {
			name += " (" + r.Detail + ")"
		}
		t.add("", string(r.Kind), name, sure, strings.Join(r.Through, ", "))
	}
	t.write(a, a.Out)
}
