package alert_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/alert"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/registry"
	"github.com/outerloop-dev/outerloop/pkg/store"
	"github.com/outerloop-dev/outerloop/pkg/store/sqlitestore"
)

const projectText = `
project: acme
zone: Europe/Berlin
people: {lead: {email: lead@acme.example}, deputy: {email: deputy@acme.example}}
groups:
  sales: {members: [lead, deputy], alert: [chat], digest: "08:00"}
  both: {members: [lead], alert: [chat, email]}
connections:
  chat: {kind: slack, secret: slack-hook}
`

func declared(t *testing.T, text string) *registry.Project {
	t.Helper()
	p, problems := registry.Read("outerloop.yaml", []byte(text))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

// wire is a channel that tells what it was given.
type wire struct {
	mu   sync.Mutex
	sent []alert.Message
	fail func(n int) error
	n    int
}

func (w *wire) Send(_ context.Context, m alert.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
	if w.fail != nil {
		if err := w.fail(w.n); err != nil {
			return err
		}
	}
	w.sent = append(w.sent, m)
	return nil
}

// bundle is a desk with a store that outlives it, and a clock.
type bundle struct {
	*testing.T
	desk *alert.Desk
	cfg  alert.Config
	now  time.Time
	chat *wire
	log  *bytes.Buffer
	ids  int
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{T: t, now: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), chat: &wire{}, log: &bytes.Buffer{}}
	s, err := sqlitestore.Open(filepath.Join(t.TempDir(), "state.db"), sqlitestore.Options{Now: func() time.Time { return b.now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	b.cfg = alert.Config{
		Store: s, Clock: func() time.Time { return b.now }, Project: declared(t, projectText),
		IDs:      func() string { b.ids++; return fmt.Sprintf("id-%d", b.ids) },
		Channels: map[string]alert.Channel{"chat": b.chat}, Log: slog.New(slog.NewTextHandler(b.log, nil)),
	}
	b.restart()
	return b
}

// restart makes the desk anew, as another process would.
func (b *bundle) restart() {
	b.Helper()
	var err error
	if b.desk, err = alert.New(b.cfg); err != nil {
		b.Fatal(err)
	}
}

func (b *bundle) deliver() alert.Delivered {
	b.Helper()
	out, err := b.desk.Deliver(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return out
}

func exception(n int) coordinator.Alert {
	return coordinator.Alert{
		To: "sales", Kind: coordinator.KindException, ID: fmt.Sprintf("e%d", n), Loop: "follow-up", Run: "r1",
		Step: "send", Since: time.Unix(int64(n), 0).UTC(), Text: fmt.Sprintf("failure %d", n),
	}
}

// R36: two branches that fail together raise one alert; what follows within the
// quiet period comes as one message at its end, also over a restart.
func TestOneIncidentIsOneAlert(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.desk.Notify(t.Context(), exception(1))
	b.desk.Notify(t.Context(), exception(2))
	b.deliver()
	if len(b.chat.sent) != 1 || len(b.chat.sent[0].Lines) != 2 {
		t.Fatalf("two failures at once were told as %+v", b.chat.sent)
	}
	b.now = b.now.Add(time.Minute)
	b.restart()
	for n := 3; n < 33; n++ {
		b.desk.Notify(t.Context(), exception(n))
	}
	out := b.deliver()
	if len(b.chat.sent) != 1 || !out.Next.Equal(b.now.Add(14*time.Minute)) {
		t.Fatalf("in the quiet period %d messages were sent, the next is due %s", len(b.chat.sent), out.Next)
	}
	b.now = out.Next
	b.deliver()
	if len(b.chat.sent) != 2 || len(b.chat.sent[1].Lines)+b.chat.sent[1].More != 30 || b.chat.sent[1].More != 10 {
		t.Fatalf("after it: %d messages, %+v", len(b.chat.sent), b.chat.sent[len(b.chat.sent)-1])
	}
	b.now = b.now.Add(time.Hour)
	if out := b.deliver(); out.Sent != 0 || !out.Next.IsZero() {
		t.Errorf("when all is told, %+v", out)
	}
}

// R36: the same alert is kept once, whoever tells it; one that comes back later is news.
func TestTheSameAlertIsToldOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 3 {
		b.restart()
		b.desk.Notify(t.Context(), exception(1))
		b.deliver()
		b.now = b.now.Add(time.Hour)
	}
	again := exception(1)
	again.Since = b.now
	b.desk.Notify(t.Context(), again)
	b.deliver()
	if len(b.chat.sent) != 2 {
		t.Errorf("told %d times, want once for each time it was opened", len(b.chat.sent))
	}
}

// R41: a process that dies while it sends loses no alert; it comes again under the same id.
func TestAlertSurvivesTheSendersDeath(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, die := context.WithCancel(t.Context())
	b.chat.fail = func(n int) error {
		if n == 1 {
			die()
			return ctx.Err()
		}
		return nil
	}
	b.desk.Notify(ctx, exception(1))
	if _, err := b.desk.Deliver(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	b.restart()
	if out := b.deliver(); out.Sent != 0 {
		t.Fatal("a message in another's hand was sent")
	}
	b.desk.Notify(t.Context(), exception(2)) // it waits for its own message
	b.now = b.now.Add(time.Minute)
	b.deliver()
	if len(b.chat.sent) != 1 || len(b.chat.sent[0].Lines) != 1 {
		t.Fatalf("after the death: %+v", b.chat.sent)
	}
}

// R36: a channel that fails is tried again with growing waits, not before what
// it asks for, and given up with the text in the log.
func TestChannelIsTriedAgainAndGivenUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.chat.fail = func(n int) error {
		if n == 2 {
			return &alert.LaterError{Until: b.now.Add(5 * time.Minute), Why: "429"}
		}
		return errors.New("no answer")
	}
	b.desk.Notify(t.Context(), exception(1))
	var waits []time.Duration
	for range 20 {
		out := b.deliver()
		if out.Next.IsZero() {
			break
		}
		waits = append(waits, out.Next.Sub(b.now))
		b.now = out.Next
	}
	if b.chat.n != 6 || len(waits) != 5 || waits[0] != 10*time.Second || waits[1] != 5*time.Minute || waits[2] != 40*time.Second {
		t.Errorf("%d tries with waits %v", b.chat.n, waits)
	}
	if !strings.Contains(b.log.String(), "level=ERROR") || !strings.Contains(b.log.String(), "failure 1") {
		t.Errorf("given up without the text in the log:\n%s", b.log)
	}
}

// R36: without a channel, and for a group that nobody knows, the log has it.
func TestWithoutAChannelItIsLogged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := exception(1)
	a.To = "both"
	b.desk.Notify(t.Context(), a)
	a.To, a.ID = "nobody", "e2"
	b.desk.Notify(t.Context(), a)
	b.deliver()
	if len(b.chat.sent) != 1 || strings.Count(b.log.String(), "alert: failure 1") != 2 || !strings.Contains(b.log.String(), "instead_of=email") {
		t.Errorf("%d messages and the log\n%s", len(b.chat.sent), b.log)
	}
}

// Two deliverers at once send each message once.
func TestTwoDeliverersSendOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.desk.Notify(t.Context(), exception(1))
	other, err := alert.New(b.cfg)
	if err != nil {
		t.Fatal(err)
	}
	slow := make(chan struct{})
	b.chat.fail = func(int) error { <-slow; return nil }
	var wg sync.WaitGroup
	first := make(chan error, 1)
	wg.Go(func() { _, err := b.desk.Deliver(t.Context()); first <- err })
	for { // until the first has it in hand
		page, err := b.cfg.Store.List(t.Context(), store.Query{Index: store.ByDue, Part: "ALERTS"})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Items) == 1 && page.Items[0].Version > 1 {
			break
		}
	}
	if out, err := other.Deliver(t.Context()); err != nil || out.Sent != 0 {
		t.Errorf("the second sent %+v, %v", out, err)
	}
	close(slow)
	wg.Wait()
	if err := <-first; err != nil || len(b.chat.sent) != 1 {
		t.Errorf("sent %d, %v", len(b.chat.sent), err)
	}
}

// R74: a test alert goes the whole way, and is proved by the person who got its code.
func TestPersonConfirmsTheTestAlert(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := b.desk.Test(t.Context(), "sales"); err != nil {
		t.Fatal(err)
	}
	b.deliver()
	if len(b.chat.sent) != 1 {
		t.Fatalf("sent %+v", b.chat.sent)
	}
	code := b.chat.sent[0].Lines[0].ID
	if _, err := b.desk.Confirm(t.Context(), "sales", "guessed", "lead@acme.example"); !errors.Is(err, alert.ErrNoTest) {
		t.Errorf("a wrong code: %v", err)
	}
	proof, err := b.desk.Confirm(t.Context(), "sales", code, "lead@acme.example")
	if err != nil || proof.By != "lead@acme.example" || !proof.At.Equal(b.now) {
		t.Errorf("%+v, %v", proof, err)
	}
	if _, err := b.desk.Confirm(t.Context(), "sales", code, "deputy@acme.example"); !errors.Is(err, alert.ErrNoTest) {
		t.Errorf("the code a second time: %v", err)
	}
}

// shared is what a digest reads.
type shared struct {
	runs       []coordinator.RunView
	exceptions []coordinator.ExceptionView
}

func (s shared) Runs(context.Context, coordinator.RunsQuery) ([]coordinator.RunView, error) {
	return s.runs, nil
}

func (s shared) Approvals(context.Context, coordinator.ApprovalsQuery) ([]coordinator.ApprovalView, error) {
	return []coordinator.ApprovalView{{Approvers: []string{"sales"}}, {Approvers: []string{"others"}}}, nil
}

func (s shared) Exceptions(context.Context, coordinator.ExceptionsQuery) ([]coordinator.ExceptionView, error) {
	return s.exceptions, nil
}

// R57: a declared digest comes once a day at its time in the project's zone.
func TestDigestComesOnceADay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ended := b.now.Add(time.Hour)
	from := shared{runs: []coordinator.RunView{{Loop: "follow-up", Status: "completed", EndedAt: &ended}, {Loop: "other", Status: "failed", EndedAt: &ended}}}
	owner := func(loop string) string { return map[string]string{"follow-up": "sales"}[loop] }
	for range 26 { // hours from 10:00 in Berlin
		if err := b.desk.Digest(t.Context(), from, owner); err != nil {
			t.Fatal(err)
		}
		b.deliver()
		b.now = b.now.Add(time.Hour)
	}
	if len(b.chat.sent) != 1 {
		t.Fatalf("%d digests in 26 hours", len(b.chat.sent))
	}
	got := b.chat.sent[0]
	if at := got.At.Format(time.RFC3339); at != "2026-12-01T07:00:00Z" || got.Lines[0].Text != "follow-up completed 1; approvals that wait 1" {
		t.Errorf("at %s: %s", at, got.Text())
	}
}

// The requests of one run that come together are one message with their count,
// and each is told once (R36, R46, R57).
func TestRequestsOfARunAreOneMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tell := func(from, to int) {
		for n := from; n < to; n++ {
			b.desk.Notify(t.Context(), coordinator.Alert{
				To: "sales", Kind: coordinator.KindRequest, ID: fmt.Sprintf("ap-%d", n), Run: "crm-1", Text: "Send the mail?",
			})
			b.deliver()
			b.now = b.now.Add(time.Second)
		}
	}
	tell(0, 24)
	b.restart()
	tell(0, 2) // another process tells them again
	b.now = b.now.Add(time.Minute)
	b.deliver()
	if len(b.chat.sent) != 1 {
		t.Fatalf("%d messages: %+v", len(b.chat.sent), b.chat.sent)
	}
	m := b.chat.sent[0]
	if !strings.Contains(m.Subject, "24 requests for approval") || len(m.Lines)+m.More != 24 || !strings.HasSuffix(m.Lines[0].Command, "approvals crm-1") {
		t.Errorf("told %q, %d lines and %d more, %q", m.Subject, len(m.Lines), m.More, m.Lines[0].Command)
	}
	b.now = b.now.Add(time.Hour)
	if b.deliver(); len(b.chat.sent) != 1 {
		t.Errorf("told again: %+v", b.chat.sent[1:])
	}
}
