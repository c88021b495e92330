// Command outerloop runs loops: see `outerloop --help`.
package main

import (
	_ "time/tzdata" // zones of loops, also where the system has none

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
	accesscodes "github.com/outerloop-dev/outerloop/functions/workers/access-codes"
	"github.com/outerloop-dev/outerloop/functions/workers/aggregator"
	claimchecker "github.com/outerloop-dev/outerloop/functions/workers/claim-checker"
	crmscan "github.com/outerloop-dev/outerloop/functions/workers/crm-scan"
	"github.com/outerloop-dev/outerloop/functions/workers/environments"
	followuptemplate "github.com/outerloop-dev/outerloop/functions/workers/followup-template"
	followupwriter "github.com/outerloop-dev/outerloop/functions/workers/followup-writer"
	leadqualifier "github.com/outerloop-dev/outerloop/functions/workers/lead-qualifier"
	"github.com/outerloop-dev/outerloop/functions/workers/mailer"
	paymentlookup "github.com/outerloop-dev/outerloop/functions/workers/payment-lookup"
	researchplanner "github.com/outerloop-dev/outerloop/functions/workers/research-planner"
	salesdashboard "github.com/outerloop-dev/outerloop/functions/workers/sales-dashboard"
	sourcesearch "github.com/outerloop-dev/outerloop/functions/workers/source-search"
)

// version is set when the program is built.
var version string

func main() { cli.Main(program()) }

// program is the command line with the workers of the samples in it.
func program() cli.Config {
	return cli.Config{
		Version: version,
		Workers: []cli.Worker{
			crmscan.Worker, leadqualifier.Worker, followupwriter.Worker, followuptemplate.Worker,
			claimchecker.Worker, mailer.Worker, salesdashboard.Worker,
			researchplanner.Worker, sourcesearch.Worker, aggregator.Worker,
			paymentlookup.Worker, accesscodes.Worker, environments.Worker, // booking
		},
		Crew: agents,
		Pages: []cli.Page{
			{Fact: "dashboard/sales", Render: salesdashboard.Render},
			{Fact: "research/latest", Render: aggregator.Render},
		},
	}
}
