// Package client speaks the console's API: what the coordinator answers in
// process, it answers from afar, with the same types and the same errors.
//
// It sends nothing twice by itself, but for reads where the transport says so.
// When no answer comes to a write, its error is remote.ErrUnknown.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/console"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
)

// Client is a client of one API. It is safe for concurrent use.
type Client struct {
	base string
	http *http.Client
}

// New makes a client of the API at an address, "https://host/…"; of a function
// that is invoked (payload.Transport) the address is of no consequence.
func New(base string, transport http.RoundTripper) *Client {
	return &Client{base: strings.TrimRight(base, "/"), http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// maxAnswer bounds one answer.
const maxAnswer = 256 << 20

// at makes an address of words and names; names may hold anything.
func at(words ...string) string {
	var b strings.Builder
	for _, word := range words {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(word))
	}
	return b.String()
}

// named tells whether a text can be in an address. What cannot is no id.
func named(id string) bool { return id != "" }

// get reads an address into a value.
func get[T any](ctx context.Context, c *Client, path string, query url.Values) (T, error) {
	var out T
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return out, err
	}
	err = c.send(r, &out)
	return out, err
}

// post asks for a use.
func post[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	var out T
	raw, err := remote.Encode(body)
	if err != nil {
		return out, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(raw))
	if err != nil {
		return out, err
	}
	r.Header.Set("Content-Type", "application/json")
	err = c.send(r, &out)
	return out, err
}

func (c *Client) send(r *http.Request, into any) error {
	res, err := c.http.Do(r)
	if err != nil {
		return unwrap(err)
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return fmt.Errorf("reading the console's answer: %w", err)
	}
	if len(raw) > maxAnswer {
		return fmt.Errorf("the console's answer has more than %d bytes: %w", maxAnswer, remote.ErrTooLarge)
	}
	if res.StatusCode != http.StatusOK {
		return refusal(res.StatusCode, raw)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("reading the console's answer: %w", err)
	}
	return nil
}

// unwrap takes away what http.Client adds: an address that says nothing where a
// function is invoked.
func unwrap(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) && wrapped.Err != nil {
		return wrapped.Err
	}
	return err
}

// refusal is the error of an answer that is no success.
func refusal(status int, raw []byte) error {
	var doc console.ErrorDocument
	if err := json.Unmarshal(raw, &doc); err == nil && doc.Error != nil && doc.Error.Message != "" {
		return doc.Error
	}
	if len(raw) > 200 {
		raw = raw[:200]
	}
	return fmt.Errorf("the console answers %d: %s", status, strings.ToValidUTF8(string(raw), "?"))
}

// mostAsked is the largest page of the API.
const mostAsked = 1000

// pages reads page after page of a list until it has enough; 0: all.
func pages[T any](ctx context.Context, c *Client, path string, query url.Values, enough int) ([]T, error) {
	list := []T{}
	for {
		if enough > 0 {
			query.Set("limit", strconv.Itoa(min(enough-len(list), mostAsked)))
		}
		page, err := get[console.List[T]](ctx, c, path, query)
		if err != nil {
			return nil, err
		}
		list = append(list, page.Items...)
		if page.Next == "" || enough > 0 && len(list) >= enough {
			return list, nil
		}
		if page.Next == query.Get("after") {
			return nil, fmt.Errorf("the console's answer names itself as the next page of %s", path)
		}
		query.Set("after", page.Next)
	}
}

func query(pairs ...string) url.Values {
	out := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out.Set(pairs[i], pairs[i+1])
		}
	}
	return out
}

// Status says what answers, and when the watch last went round.
func (c *Client) Status(ctx context.Context) (console.StatusView, error) {
	return get[console.StatusView](ctx, c, "/v1/status", nil)
}

// Find answers the ids of the runs that begin so. See coordinator.Find.
func (c *Client) Find(ctx context.Context, beginning string) ([]string, error) {
	return pages[string](ctx, c, "/v1/find", query("run", beginning), 0)
}

const usualRuns = 50

// Runs lists runs, newest first.
func (c *Client) Runs(ctx context.Context, q coordinator.RunsQuery) ([]coordinator.RunView, error) {
	open := ""
	if q.Open {
		open = "true"
	}
	limit := q.Limit
	if limit <= 0 {
		limit = usualRuns
	}
	return pages[coordinator.RunView](ctx, c, "/v1/runs", query("loop", q.Loop, "open", open, "after", q.After), limit)
}

// Run reads one run. Error: coordinator.ErrNoRun.
func (c *Client) Run(ctx context.Context, run string) (coordinator.RunView, error) {
	if !named(run) {
		return coordinator.RunView{}, coordinator.ErrNoRun
	}
	doc, err := get[console.RunDocument](ctx, c, at("v1", "runs", run), query("steps", "false"))
	return doc.RunView, err
}

// Show reads one run with all its steps. A run that moves on meanwhile may show
// later steps in a later state. Error: coordinator.ErrNoRun.
func (c *Client) Show(ctx context.Context, run string) (coordinator.ShowView, error) {
	if !named(run) {
		return coordinator.ShowView{}, coordinator.ErrNoRun
	}
	doc, err := get[console.RunDocument](ctx, c, at("v1", "runs", run), nil)
	if err != nil {
		return coordinator.ShowView{}, err
	}
	view := doc.ShowView
	if doc.Next != "" {
		more, err := pages[coordinator.StepView](ctx, c, at("v1", "runs", run, "steps"), query("after", doc.Next), 0)
		if err != nil {
			return view, err
		}
		view.Steps = append(view.Steps, more...)
	}
	return view, nil
}

// Log is every decision about a run. Error: coordinator.ErrNoRun.
func (c *Client) Log(ctx context.Context, run string) ([]coordinator.LogView, error) {
	if !named(run) {
		return nil, coordinator.ErrNoRun
	}
	return pages[coordinator.LogView](ctx, c, at("v1", "runs", run, "log"), url.Values{}, 0)
}

// Outputs reads what is recorded of a run's step. Error: coordinator.ErrNoRun.
func (c *Client) Outputs(ctx context.Context, run, step string) ([]coordinator.OutputView, error) {
	if !named(run) {
		return nil, coordinator.ErrNoRun
	}
	if step == "" {
		return []coordinator.OutputView{}, nil
	}
	return pages[coordinator.OutputView](ctx, c, at("v1", "runs", run, "outputs"), query("step", step), 0)
}

// Approvals lists what is undecided, oldest first.
func (c *Client) Approvals(ctx context.Context, q coordinator.ApprovalsQuery) ([]coordinator.ApprovalView, error) {
	return pages[coordinator.ApprovalView](ctx, c, "/v1/approvals", query("run", q.Run, "after", q.After), q.Limit)
}

// Approval reads one request, decided or not. Error: coordinator.ErrNoApproval.
func (c *Client) Approval(ctx context.Context, id string) (coordinator.ApprovalView, error) {
	if !named(id) {
		return coordinator.ApprovalView{}, coordinator.ErrNoApproval
	}
	return get[coordinator.ApprovalView](ctx, c, at("v1", "approvals", id), nil)
}

// Exception reads one exception, resolved or not. Error: coordinator.ErrNoException.
func (c *Client) Exception(ctx context.Context, id string) (coordinator.ExceptionView, error) {
	if !named(id) {
		return coordinator.ExceptionView{}, coordinator.ErrNoException
	}
	return get[coordinator.ExceptionView](ctx, c, at("v1", "exceptions", id), nil)
}

// Exceptions lists what is open, oldest first.
func (c *Client) Exceptions(ctx context.Context, q coordinator.ExceptionsQuery) ([]coordinator.ExceptionView, error) {
	return pages[coordinator.ExceptionView](ctx, c, "/v1/exceptions", query("run", q.Run, "after", q.After), q.Limit)
}

const mostActions = 1000

// Actions searches the action log: at most 1,000 entries.
func (c *Client) Actions(ctx context.Context, q coordinator.ActionsQuery) ([]coordinator.ActionView, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = mostActions
	}
	return pages[coordinator.ActionView](ctx, c, "/v1/actions", query("loop", q.Loop, "key", q.Key, "after", q.After), limit)
}

// Loops lists the loops that can be started or ever had a run.
func (c *Client) Loops(ctx context.Context) ([]coordinator.LoopView, error) {
	return pages[coordinator.LoopView](ctx, c, "/v1/loops", url.Values{}, 0)
}

// Budgets lists what the budgets of the periods under way have left.
func (c *Client) Budgets(ctx context.Context) ([]coordinator.BudgetView, error) {
	return pages[coordinator.BudgetView](ctx, c, "/v1/budgets", url.Values{}, 0)
}

// Breakers lists the circuit breakers of the workers that ever failed.
func (c *Client) Breakers(ctx context.Context) ([]coordinator.BreakerView, error) {
	return pages[coordinator.BreakerView](ctx, c, "/v1/breakers", url.Values{}, 0)
}

// Trusted lists how far workers are trusted; worker "": all. See coordinator.Trusted.
func (c *Client) Trusted(ctx context.Context, worker string) ([]coordinator.AutonomyView, error) {
	return pages[coordinator.AutonomyView](ctx, c, "/v1/autonomy", query("worker", worker), 0)
}

// Proposals lists what a worker proposed and did not do, the oldest first.
func (c *Client) Proposals(ctx context.Context, worker string) ([]coordinator.ProposalView, error) {
	return pages[coordinator.ProposalView](ctx, c, "/v1/proposals", query("worker", worker), 0)
}

// Fact reads a fact; its value is null where it was never written.
func (c *Client) Fact(ctx context.Context, name string) (coordinator.FactView, error) {
	return get[coordinator.FactView](ctx, c, "/v1/facts", query("name", name))
}
