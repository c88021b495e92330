package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/registry"
	"github.com/outerloop-dev/outerloop/pkg/schema"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

func (a *app) emitCommand() *cobra.Command {
	var data, id string
	cmd := &cobra.Command{
		Use:   "emit EVENT",
		Short: "Hand in an event from outside, to the loops and waits that it concerns",
		Long: `Checks the data by the event's schema in outerloop.yaml, records the event, starts the loops
that subscribe to it and ends the waits that match, and works until nothing more can move.

--id makes it one event however often it is handed in: a second time nothing happens.`,
		Example: `  outerloop emit session.closed --data '{"booking": "BK-1042", "closed_at": "2026-11-30T17:00:00Z"}' --id s-77
  outerloop emit session.closed --data event.json`,
		Args: one("an event", "usage: outerloop emit EVENT --data FILE|JSON [--id ID]"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.emit(cmd.Context(), args[0], data, id) },
	}
	cmd.Flags().StringVar(&data, "data", "", "the event's data: `JSON`, a file of it, or - for standard input")
	cmd.Flags().StringVar(&id, "id", "", "the event's own `ID`; the same one again is a duplicate")
	return cmd
}

func (a *app) webhookCommand() *cobra.Command {
	var body string
	var headers []string
	cmd := &cobra.Command{
		Use:   "webhook NAME",
		Short: "Hand in a webhook's delivery on this machine, as if its sender had sent it",
		Long: `Starts the loops whose trigger names the webhook, with the body as event.body and the
headers as event.headers, and works until nothing more can move. Signatures are not asked
for: who may write the state file is trusted. Deployed, deliveries come in over HTTPS and
their signatures are verified.`,
		Example: `  outerloop webhook payments --body samples/booking/payment.json
  outerloop webhook payments --body '{"type": "paid"}' --header "x-request-id: 42"`,
		Args: one("a webhook", "usage: outerloop webhook NAME --body FILE|JSON [--header \"NAME: VALUE\"]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.webhook(cmd.Context(), args[0], body, headers)
		},
	}
	cmd.Flags().StringVar(&body, "body", "", "the body: `JSON`, a file of it, or - for standard input")
	cmd.Flags().StringArrayVar(&headers, "header", nil, "a header, `\"NAME: VALUE\"`; may be given several times")
	return cmd
}

// handedIn is what emit and webhook print with -o json.
type handedIn struct {
	// ID is the event's id; empty for a webhook.
	ID string `json:"id"`
	// Duplicate: it had been handed in before.
	Duplicate bool `json:"duplicate"`
	// Runs were started.
	Runs []string `json:"runs"`
	// NotDue says why triggers started nothing.
	NotDue []string `json:"not_due"`
}

func (a *app) emit(ctx context.Context, event, data, id string) error {
	p, err := a.rightProject()
	if err != nil {
		return err
	}
	declared, known := p.Registry.Event(event)
	if !known {
		return notDeclared("event", event, names(p.Registry.Events, func(e registry.Event) string { return e.Name }))
	}
	raw, err := a.document("--data", data)
	if err != nil {
		return err
	}
	if err := p.fits("event "+event, declared.Schema, raw); err != nil {
		return err
	}
	var out handedIn
	publish := func(ctx context.Context, to starter) error {
		done, err := to.Publish(ctx, coordinator.PublishRequest{Event: event, ID: id, Data: raw})
		out.ID, out.Duplicate = done.ID, done.Duplicate
		return err
	}
	if a.far() { // which runs it starts, the deployment finds out by itself
		c, err := a.console(ctx)
		if err != nil {
			return err
		}
		if err := publish(ctx, c); err != nil {
			return err
		}
		return a.sayHandedIn(event, out)
	}
	out.Runs, err = a.handIn(ctx, p, func(ctx context.Context, s *local.Session) error { return publish(ctx, s) })
	if err != nil {
		return err
	}
	return a.sayHandedIn(event, out)
}

func (a *app) webhook(ctx context.Context, name, body string, headers []string) error {
	p, err := a.rightProject()
	if err != nil {
		return err
	}
	declared, known := p.Registry.Webhook(name)
	if !known {
		return notDeclared("webhook", name, names(p.Registry.Webhooks, func(w registry.Webhook) string { return w.Name }))
	}
	raw, err := a.document("--body", body)
	if err != nil {
		return err
	}
	if err := p.fits("body of "+name, declared.Body, raw); err != nil {
		return err
	}
	sent := map[string]string{}
	for _, header := range headers {
		key, value, ok := strings.Cut(header, ":")
		if key = strings.ToLower(strings.TrimSpace(key)); !ok || key == "" {
			return usage(fmt.Sprintf("--header %q is no header", header), `write --header "NAME: VALUE"`)
		}
		sent[key] = strings.TrimSpace(value)
	}
	var out handedIn
	out.Runs, err = a.handIn(ctx, p, func(ctx context.Context, s *local.Session) error {
		fired, err := s.Webhook(ctx, name, raw, sent)
		for _, f := range fired {
			if f.NotDue != "" {
				out.NotDue = append(out.NotDue, f.NotDue)
			}
			out.Duplicate = out.Duplicate || f.Duplicate
		}
		return err
	})
	if err != nil {
		return err
	}
	return a.sayHandedIn("webhook "+name, out)
}

// handIn hands something in and works until nothing more can move; it gives the
// runs that were started meanwhile, none where another process owns the state.
func (a *app) handIn(ctx context.Context, p opened, give func(context.Context, *local.Session) error) (started []string, err error) {
	cfg, err := a.engineConfig(&p)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	shown := a.newProgress()
	cfg.Progress = func(e local.Progress) {
		if e.Event == "ExecutionStarted" {
			mu.Lock()
			if !slices.Contains(started, e.Run) {
				started = append(started, e.Run)
			}
			mu.Unlock()
		}
		shown.tell(e)
	}
	s, err := a.join(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = also(err, s.Close()) }()
	if err := give(ctx, s); err != nil {
		return nil, err
	}
	_, err = drive(ctx, s, "")
	shown.end()
	return started, interrupted(ctx, err)
}

func (a *app) sayHandedIn(what string, out handedIn) error {
	if out.Runs == nil {
		out.Runs = []string{}
	}
	if out.NotDue == nil {
		out.NotDue = []string{}
	}
	if a.asJSON() {
		return a.writeJSON(out)
	}
	switch {
	case out.Duplicate:
		a.say("%s was handed in before; nothing was started", plain(what))
	default:
		a.say("%s is handed in%s", plain(what), idText(out.ID))
	}
	for _, why := range out.NotDue {
		a.say("  no run: %s", plain(why))
	}
	for _, run := range out.Runs {
		a.say("  run %s   %s", run, a.command("show %s", run))
	}
	return nil
}

func idText(id string) string {
	if id == "" {
		return ""
	}
	return " (" + plain(id) + ")"
}

// document is JSON from a flag: inline, a file's, or standard input's.
func (a *app) document(flag, value string) (json.RawMessage, error) {
	var content []byte
	var err error
	switch trimmed := strings.TrimSpace(value); {
	case trimmed == "":
		return nil, usage(flag+" is missing", "write "+flag+" FILE, or the JSON itself")
	case trimmed == "-":
		content, err = io.ReadAll(io.LimitReader(a.In, maxDocument+1))
	case strings.ContainsAny(trimmed[:1], `{["`) || json.Valid([]byte(trimmed)):
		content = []byte(trimmed)
	default:
		content, err = readRegular(a.path(value), value, maxDocument)
	}
	if err != nil {
		return nil, err
	}
	if len(content) > maxDocument {
		return nil, usage(fmt.Sprintf("%s has more than %d bytes", flag, maxDocument))
	}
	var read any
	if err := decodeStrict(content, &read); err != nil {
		return nil, usage(fmt.Sprintf("%s is not JSON%s", flag, because(err)))
	}
	return content, nil
}

// rightProject is a project that may start runs: without errors, its loops as
// their machines were compiled.
func (a *app) rightProject() (opened, error) {
	p, err := a.openProject()
	if err != nil {
		return p, err
	}
	if err := p.problems.Err(); err != nil {
		if perr := a.printProblems(p, p.problems); perr != nil {
			return p, perr
		}
		return p, silent(ExitUsage)
	}
	return p, p.allCurrent()
}

// fits checks a document by a declared schema; one that is not set takes anything.
func (o opened) fits(what string, declared source.Schema, raw []byte) error {
	s, ps := loop.NewFiles(os.DirFS(o.root)).Schema(declared)
	if s == nil {
		return ps.Err()
	}
	if _, faults := s.Check(raw); len(faults) > 0 {
		texts := make([]string, len(faults))
		for i, fault := range faults {
			texts[i] = fault.String()
		}
		return usage(fmt.Sprintf("the %s is not valid: %s", what, strings.Join(texts, "; ")), "its schema is "+s.Name())
	}
	return nil
}

func names[T any](list []T, name func(T) string) []string {
	out := make([]string, len(list))
	for i, one := range list {
		out[i] = name(one)
	}
	return out
}

// notDeclared is a usage error about a name that the project file lacks.
func notDeclared(what, name string, known []string) error {
	remedies := []string{fmt.Sprintf("outerloop.yaml declares no %ss", what)}
	if len(known) > 0 {
		remedies = []string{fmt.Sprintf("%ss here: %s", what, strings.Join(known, ", "))}
	}
	if near := schema.Nearest(name, known); near != "" {
		remedies = append([]string{"did you mean " + near + "?"}, remedies...)
	}
	return usage(fmt.Sprintf("there is no %s %q", what, name), remedies...)
}
