package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/problem"
	"github.com/outerloop-dev/outerloop/pkg/schema"
)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE]",
		Short: "Explain a code that validate printed",
		Long: `Says what rule a code stands for, why it is one, and shows the mistake beside its
remedy. Without a code it lists all of them.`,
		Example: "  outerloop explain E117\n  outerloop explain            # every code\n  outerloop explain -o json",
		Args:    atMostOne,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listCodes()
			}
			return a.explain(strings.ToUpper(args[0]))
		},
	}
}

func (a *app) listCodes() error {
	codes := problem.Codes()
	if a.asJSON() {
		return a.writeJSON(codes)
	}
	t := table{head: []string{"CODE", "RULE"}}
	for _, code := range codes {
		t.add(code.ID, code.Title)
	}
	t.write(a, a.Out)
	return nil
}

func (a *app) explain(id string) error {
	code, ok := problem.Lookup(id)
	if !ok {
		var ids []string
		for _, known := range problem.Codes() {
			ids = append(ids, known.ID)
		}
		remedies := []string{"outerloop explain   lists all codes"}
		if near := schema.Nearest(id, ids); near != "" {
			remedies = append([]string{"did you mean " + near + "?"}, remedies...)
		}
		return usage(fmt.Sprintf("there is no code %s", id), remedies...)
	}
	if a.asJSON() {
		return a.writeJSON(code)
	}
	a.say("%s  %s\n\n%s", a.bold(code.ID), code.Title, strings.TrimSpace(code.Text))
	a.example("Wrong", code.Wrong)
	a.example("Right", code.Right)
	return nil
}

func (a *app) example(title, text string) {
	if text == "" {
		return
	}
	a.say("\n%s", title)
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		a.say("    %s", line)
	}
}
