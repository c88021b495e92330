package cli

import (
	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/graph"
)

func (a *app) graphCommand() *cobra.Command {
	var effective bool
	cmd := &cobra.Command{
		Use:   "graph LOOP",
		Short: "Draw a loop as a Mermaid flowchart",
		Long: `Draws what waits for what: the data on each arrow, decisions, business actions,
approvals, reviews and exceptions. Code hosts and many editors draw Mermaid; -o json gives
the same graph as data. --effective prints instead what holds for every step once the
defaults of the file and of the language are filled in.`,
		Example: `  outerloop graph crm-followup > crm-followup.mmd
  outerloop graph crm-followup --effective
  outerloop graph crm-followup -o json | jq '.edges'`,
		Args: one("a loop", "outerloop validate   checks the project's loops"),
		RunE: func(_ *cobra.Command, args []string) error { return a.graph(args[0], effective) },
	}
	cmd.Flags().BoolVar(&effective, "effective", false, "the rules of every step, defaults filled in")
	return cmd
}

// effectiveView is `graph --effective -o json`.
type effectiveView struct {
	ID        string `json:"id"`
	Effective string `json:"effective"`
}

func (a *app) graph(name string, effective bool) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	def, err := p.loop(name)
	if err != nil {
		return err
	}
	text := graph.Mermaid
	drawn := graph.Of(def)
	switch {
	case effective && a.asJSON():
		return a.writeJSON(effectiveView{ID: name, Effective: graph.Effective(def)})
	case effective:
		text = func(*graph.Graph) string { return graph.Effective(def) }
	case a.asJSON():
		return a.writeJSON(drawn)
	}
	_, err = a.Out.Write([]byte(text(drawn)))
	return err
}
