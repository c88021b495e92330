// Command outerloop runs loops: see `outerloop --help`.
package main

import (
	_ "time/tzdata" // zones of loops, also where the system has none

	"github.com/outerloop-dev/outerloop/cmd/outerloop/cli"
	accesscodes "github.com/outerloop-dev/outerloop/functions/workers/access-codes"
	"github.com/outerloop-dev/outerloop/functions/workers/aggregator"
	approvedsources "github.com/outerloop-dev/outerloop/functions/workers/approved-sources"
	assetstore "github.com/outerloop-dev/outerloop/functions/workers/asset-store"
	billingsupport "github.com/outerloop-dev/outerloop/functions/workers/billing-support"
	"github.com/outerloop-dev/outerloop/functions/workers/books"
	brandchecker "github.com/outerloop-dev/outerloop/functions/workers/brand-checker"
	brandrules "github.com/outerloop-dev/outerloop/functions/workers/brand-rules"
	"github.com/outerloop-dev/outerloop/functions/workers/callback"
	campaignwriter "github.com/outerloop-dev/outerloop/functions/workers/campaign-writer"
	claimchecker "github.com/outerloop-dev/outerloop/functions/workers/claim-checker"
	crmscan "github.com/outerloop-dev/outerloop/functions/workers/crm-scan"
	customerlanguage "github.com/outerloop-dev/outerloop/functions/workers/customer-language"
	digestwriter "github.com/outerloop-dev/outerloop/functions/workers/digest-writer"
	documentstore "github.com/outerloop-dev/outerloop/functions/workers/document-store"
	"github.com/outerloop-dev/outerloop/functions/workers/environments"
	figurechecker "github.com/outerloop-dev/outerloop/functions/workers/figure-checker"
	followuptemplate "github.com/outerloop-dev/outerloop/functions/workers/followup-template"
	followupwriter "github.com/outerloop-dev/outerloop/functions/workers/followup-writer"
	generalsupport "github.com/outerloop-dev/outerloop/functions/workers/general-support"
	"github.com/outerloop-dev/outerloop/functions/workers/helpdesk"
	invoicematcher "github.com/outerloop-dev/outerloop/functions/workers/invoice-matcher"
	invoiceocr "github.com/outerloop-dev/outerloop/functions/workers/invoice-ocr"
	invoicereader "github.com/outerloop-dev/outerloop/functions/workers/invoice-reader"
	leadqualifier "github.com/outerloop-dev/outerloop/functions/workers/lead-qualifier"
	"github.com/outerloop-dev/outerloop/functions/workers/ledger"
	"github.com/outerloop-dev/outerloop/functions/workers/mailer"
	orderlookup "github.com/outerloop-dev/outerloop/functions/workers/order-lookup"
	paperfetch "github.com/outerloop-dev/outerloop/functions/workers/paper-fetch"
	papersearch "github.com/outerloop-dev/outerloop/functions/workers/paper-search"
	paymentlookup "github.com/outerloop-dev/outerloop/functions/workers/payment-lookup"
	purchaseorders "github.com/outerloop-dev/outerloop/functions/workers/purchase-orders"
	quarterrecords "github.com/outerloop-dev/outerloop/functions/workers/quarter-records"
	quotepicker "github.com/outerloop-dev/outerloop/functions/workers/quote-picker"
	"github.com/outerloop-dev/outerloop/functions/workers/refund"
	reportwriter "github.com/outerloop-dev/outerloop/functions/workers/report-writer"
	researchplanner "github.com/outerloop-dev/outerloop/functions/workers/research-planner"
	salesdashboard "github.com/outerloop-dev/outerloop/functions/workers/sales-dashboard"
	shoporder "github.com/outerloop-dev/outerloop/functions/workers/shop-order"
	sourcefinder "github.com/outerloop-dev/outerloop/functions/workers/source-finder"
	sourcesearch "github.com/outerloop-dev/outerloop/functions/workers/source-search"
	stocklevel "github.com/outerloop-dev/outerloop/functions/workers/stock-level"
	"github.com/outerloop-dev/outerloop/functions/workers/strategist"
	"github.com/outerloop-dev/outerloop/functions/workers/summariser"
	suppliera "github.com/outerloop-dev/outerloop/functions/workers/supplier-a"
	supplierb "github.com/outerloop-dev/outerloop/functions/workers/supplier-b"
	supportstats "github.com/outerloop-dev/outerloop/functions/workers/support-stats"
	techsupport "github.com/outerloop-dev/outerloop/functions/workers/tech-support"
	ticketclassifier "github.com/outerloop-dev/outerloop/functions/workers/ticket-classifier"
	topicsummary "github.com/outerloop-dev/outerloop/functions/workers/topic-summary"
	trendanalyst "github.com/outerloop-dev/outerloop/functions/workers/trend-analyst"
	voiceexport "github.com/outerloop-dev/outerloop/functions/workers/voice-export"
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
			invoicereader.Worker, invoiceocr.Worker, orderlookup.Worker, invoicematcher.Worker, ledger.Worker, books.Worker, // invoice
			stocklevel.Worker, suppliera.Worker, supplierb.Worker, quotepicker.Worker, purchaseorders.Worker, // inventory-watch
			ticketclassifier.Worker, billingsupport.Worker, techsupport.Worker, generalsupport.Worker, helpdesk.Worker, supportstats.Worker, // support-triage
			papersearch.Worker, paperfetch.Worker, summariser.Worker, digestwriter.Worker,
			brandrules.Worker, approvedsources.Worker, voiceexport.Worker, sourcefinder.Worker, customerlanguage.Worker, strategist.Worker, campaignwriter.Worker, brandchecker.Worker, assetstore.Worker,
			quarterrecords.Worker, topicsummary.Worker, trendanalyst.Worker, reportwriter.Worker, figurechecker.Worker, documentstore.Worker,
			shoporder.Worker, refund.Worker, callback.Worker,
		},
		Crew:   withoutCode,
		Replay: replay,
		Secret: secret,
		Pages: []cli.Page{
			{Fact: "papers/digest", Render: digestwriter.Render},
			{Fact: "dashboard/sales", Render: salesdashboard.Render},
			{Fact: "research/latest", Render: aggregator.Render},
		},
	}
}
