package main

import (
	"testing"

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
)

// What a deployment does not do is refused with the reason and with what does.
func TestCommandsOfThisMachineAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for want, args := range map[string][]string{
		"inputs that are recorded there":     {"replay", "x", "--worker", "researcher"},
		"is about this machine":              {"compile"},
		"with a target work: run, runs, sho": {"graph", "crm-followup"},
	} {
		b.want(cli.ExitUsage, append(args, "--target", "aws")...).has(t, want, "outerloop "+args[0]+" with --target aws")
	}
}

// R43, R64: how far workers are trusted in a deployment is read and changed from
// here, by the people who may, as on this machine.
func TestTrustInADeployment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	deploy(t, b)
	person := []string{"--by", "lead@acme.example", "--reason", "too soon"}
	same(t, "autonomy mailer", b.at("", "autonomy", "mailer"), b.at("aws", "autonomy", "mailer"))
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{cli.ExitFailed, "no such proposal", []string{"did", "crm-followup", "x:send-follow-up", "--nothing", "--by", "lead@acme.example"}},
		{cli.ExitUsage, "several actions", append([]string{"demote", "mailer"}, person...)},
		{cli.ExitFailed, "not allowed", []string{"demote", "mailer", "--action", "send-follow-up", "--by", "director@acme.example", "--reason", "r"}},
		{0, "in stage", append([]string{"demote", "mailer", "--action", "send-follow-up"}, person...)},
		{cli.ExitFailed, "do not propose it", append([]string{"promote", "mailer", "--action", "send-follow-up"}, person...)},
		{0, "in stage", append([]string{"promote", "mailer", "--action", "send-follow-up", "--unmeasured"}, person...)},
	} {
		got := b.at("aws", c.args...)
		if got.code != c.code {
			t.Errorf("%v: exit %d, want %d\n%s%s", c.args, got.code, c.code, got.out, got.err)
		}
		got.has(t, c.says)
	}
	there := b.at("aws", "autonomy", "mailer", "-o", "json")
	same(t, "autonomy mailer -o json", b.at("", "autonomy", "mailer", "-o", "json"), there)
	there.has(t, `"reason": "too soon"`)
}
