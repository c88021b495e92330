package main

import (
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
)

// What a deployment does not do is refused with the reason and with what does.
func TestCommandsOfThisMachineAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	person := []string{"--by", "anna@acme.example", "--reason", "r"}
	for want, args := range map[string][]string{
		"how far workers are trusted":        append([]string{"promote", "refund"}, person...),
		"what a breach took back":            append([]string{"demote", "refund"}, person...),
		"neither tells nor changes that":     {"autonomy"},
		"takes no comparison":                {"did", "support-agent", "A-1:refund", "--nothing", "--by", "anna@acme.example"},
		"inputs that are recorded there":     {"replay", "x", "--worker", "researcher"},
		"is about this machine":              {"compile"},
		"with a target work: run, runs, sho": {"graph", "crm-followup"},
	} {
		b.want(cli.ExitUsage, append(args, "--target", "aws")...).has(t, want, "outerloop "+args[0]+" with --target aws")
	}
}
