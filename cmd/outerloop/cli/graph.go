package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/graph"
)

// picture is what `graph` draws and how.
type picture struct {
	format, theme string
	effective     bool
}

func (a *app) graphCommand() *cobra.Command {
	var p picture
	cmd := &cobra.Command{
		Use:   "graph [LOOP]",
		Short: "Draw a loop, or how all loops feed each other",
		Long: `Draws a loop: what waits for what, which data flows on each arrow, and where it decides,
changes a system, asks people or stops. Without a name it draws the map of all loops and
the facts and events that connect them, and says when nothing does.

Formats: mermaid (code hosts draw it), dot (Graphviz), svg (a self-contained picture, light
and dark). -o json prints the graph as data. Where the order of steps makes some wait for
more than they read, a note says so.`,
		Example: `  outerloop graph crm-followup
  outerloop graph crm-followup --format svg > crm-followup.svg
  outerloop graph --format dot | dot -Tpdf -o map.pdf
  outerloop graph crm-followup --effective     # what holds after defaults`,
		Args: atMostOne,
		RunE: func(_ *cobra.Command, args []string) error { return a.graph(args, p) },
	}
	flags := cmd.Flags()
	flags.StringVar(&p.format, "format", "mermaid", "`FORM` of the picture: mermaid, dot or svg")
	flags.StringVar(&p.theme, "theme", "auto", "`COLOURS` of an svg: auto (the reader's setting), light or dark")
	flags.BoolVar(&p.effective, "effective", false, "print what holds for every step after the defaults instead")
	return cmd
}

func (a *app) graph(args []string, how picture) error {
	theme := graph.Theme(how.theme)
	if theme != graph.Auto && theme != graph.Light && theme != graph.Dark {
		return usage(fmt.Sprintf("--theme %s is not known", how.theme), "write --theme auto, light or dark")
	}
	if how.format != "mermaid" && how.format != "dot" && how.format != "svg" {
		return usage(fmt.Sprintf("--format %s is not known", how.format), "write --format mermaid, dot or svg")
	}
	p, err := a.openProject()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		if how.effective {
			return usage("--effective needs a loop", "outerloop graph LOOP --effective")
		}
		return a.writeGraph(graph.Map(p.Registry.Name, p.Loops), how.format, theme)
	}
	def, err := p.loop(args[0])
	if err != nil {
		return err
	}
	if how.effective {
		fmt.Fprint(a.Out, graph.Effective(def))
		return nil
	}
	return a.writeGraph(graph.Of(def), how.format, theme)
}

func (a *app) writeGraph(g *graph.Graph, format string, theme graph.Theme) error {
	if a.asJSON() {
		return a.writeJSON(g)
	}
	text := graph.Mermaid(g)
	switch format {
	case "svg":
		text = graph.SVG(g, theme)
	case "dot":
		text = graph.DOT(g)
	}
	if _, err := fmt.Fprint(a.Out, text); err != nil {
		return fmt.Errorf("writing the picture: %w", err)
	}
	return nil
}
