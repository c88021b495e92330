package booking_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop"
	accesscodes "github.com/outerloop-dev/outerloop/functions/workers/access-codes"
	"github.com/outerloop-dev/outerloop/functions/workers/environments"
	"github.com/outerloop-dev/outerloop/functions/workers/mailer"
	paymentlookup "github.com/outerloop-dev/outerloop/functions/workers/payment-lookup"
	"github.com/outerloop-dev/outerloop/internal/sampletest"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

func world(t *testing.T) *sampletest.World {
	t.Helper()
	return sampletest.New(t, sampletest.Setup{
		Root: "../..", Now: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC), Loops: []string{"booking", "session-end"},
		Workers: []worker.Worker{paymentlookup.Worker, accesscodes.Worker, environments.Worker, mailer.Worker},
	})
}

// S5: confirmation and access at once, the review request after the session.
func TestOneBooking(t *testing.T) {
	t.Parallel()
	w := world(t)
	run := w.Start("booking", map[string]string{
		"booking": "BK-1042", "name": "Ana Gómez", "email": "ana.gomez@firma.example", "ends_at": "2026-12-06T10:30:00+01:00",
	})
	w.For(time.Minute)
	for name, n := range map[string]int{"mail": 1, "access": 1, "rooms": 1} {
		if made := w.Made(name); len(made) != n {
			t.Errorf("%s holds %v", name, made)
		}
	}
	w.Until(time.Date(2026, 12, 6, 9, 29, 0, 0, time.UTC))
	if view := w.Show(run); view.Status != outerloop.StatusInProgress || len(w.Made("mail")) != 1 {
		t.Fatalf("before the session's end: %s, mails %d", view.Status, len(w.Made("mail")))
	}
	w.For(3 * 24 * time.Hour)
	view := w.Show(run)
	if view.Status != outerloop.StatusCompleted || len(w.Made("mail")) != 2 {
		t.Fatalf("%s (%s), mails %d\n%+v", view.Status, view.Reason, len(w.Made("mail")), view.Steps)
	}
	if closed := w.Step(run, "closed"); closed.Outcome != outerloop.OutcomeSubstituted {
		t.Errorf("no event came, and closed ended %s", closed.Outcome)
	}
}

// The event that closes the session brings the request at once, also when it
// comes early or is told twice; another booking's does not (R9, R11).
func TestSessionCloses(t *testing.T) {
	t.Parallel()
	w := world(t)
	run, err := w.Webhook("payments", map[string]string{
		"type": "payment.confirmed", "created": "2026-11-30T08:00:00Z", "booking": "BK-1042",
		"name": "Ana Gómez", "email": "Ana.Gomez@firma.example", "session_end": "2026-12-06T10:30:00+01:00",
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Until(time.Date(2026, 12, 6, 9, 35, 0, 0, time.UTC))
	w.Publish("session.closed", map[string]string{"booking": "BK-1043", "closed_at": "2026-12-06T09:35:00Z"})
	w.For(time.Minute)
	if n := len(w.Made("mail")); n != 1 {
		t.Fatalf("another booking's session closed, and %d mails were sent", n)
	}
	for range 2 {
		w.Publish("session.closed", map[string]string{"booking": "BK-1042", "closed_at": "2026-12-06T09:36:00Z"})
		w.For(time.Minute)
	}
	if view := w.Show(run); view.Status != outerloop.StatusCompleted || len(w.Made("mail")) != 2 {
		t.Errorf("%s (%s), %d mails", view.Status, view.Reason, len(w.Made("mail")))
	}
	if closed := w.Step(run, "closed"); closed.Outcome != outerloop.OutcomeCompleted {
		t.Errorf("closed ended %s", closed.Outcome)
	}
}

// The other loop closes the room, and its event reaches the one that waits (R11).
func TestSessionEnd(t *testing.T) {
	t.Parallel()
	w := world(t)
	input := map[string]string{
		"booking": "BK-1042", "name": "Ana Gómez", "email": "ana.gomez@firma.example", "ends_at": "2026-12-06T10:30:00+01:00",
	}
	run := w.Start("booking", input)
	w.Until(time.Date(2026, 12, 6, 10, 0, 0, 0, time.UTC))
	ended := w.Start("session-end", map[string]string{"booking": "BK-1042"})
	w.For(time.Minute)
	for name, run := range map[string]string{"booking": run, "session-end": ended} {
		if view := w.Show(run); view.Status != outerloop.StatusCompleted {
			t.Errorf("%s is %s: %s", name, view.Status, view.Reason)
		}
	}
	if mails, rooms := len(w.Made("mail")), len(w.Made("rooms")); mails != 2 || rooms != 2 {
		t.Errorf("%d mails, %d entries for rooms", mails, rooms)
	}
	if closed := w.Step(run, "closed"); closed.Outcome != outerloop.OutcomeCompleted {
		t.Errorf("closed ended %s", closed.Outcome)
	}
}

// The day's payments: every confirmed one is a booking served once, however
// often its webhook comes; what the provider does not confirm stops before
// anything is done (R1, R9, R37).
func TestDayOfPayments(t *testing.T) {
	t.Parallel()
	w := world(t)
	runs := map[string]string{}
	refused := 0
	for _, body := range lines(t, "webhooks.jsonl") {
		run, err := w.Webhook("payments", body)
		if err != nil {
			refused++
			continue
		}
		if run == "" {
			continue // of another kind
		}
		booking, _ := body["booking"].(string)
		if before, again := runs[booking]; again && before != run {
			t.Errorf("%s has two runs", booking)
		}
		runs[booking] = run
	}
	if refused != 2 { // a number that is none, and a body without its fields
		t.Errorf("%d webhooks were refused", refused)
	}
	w.Until(time.Date(2026, 12, 20, 0, 0, 0, 0, time.UTC))
	ended := map[outerloop.Status][]string{}
	for booking, run := range runs {
		status := w.Show(run).Status
		ended[status] = append(ended[status], booking)
	}
	slices.Sort(ended[outerloop.StatusFailed])
	// Refunded, still pending, and never paid at all; unresolved, they failed at their deadline.
	if want := []string{"BK-1057", "BK-1065", "BK-1070"}; !slices.Equal(ended[outerloop.StatusFailed], want) {
		t.Errorf("failed: %v, want %v", ended[outerloop.StatusFailed], want)
	}
	done := len(ended[outerloop.StatusCompleted])
	if done != len(runs)-3 || done < 28 {
		t.Errorf("%d of %d runs completed: %v", done, len(runs), ended)
	}
	if codes, rooms := len(w.Made("access")), len(w.Made("rooms")); codes != done || rooms != done {
		t.Errorf("%d codes and %d rooms for %d bookings", codes, rooms, done)
	}
	confirmed, asked := map[string]int{}, map[string]int{}
	for name, content := range w.Made("mail") {
		to := strings.ToLower(name[:strings.LastIndexByte(name, '-')])
		if strings.Contains(content, "How was your session") {
			asked[to]++
		} else {
			confirmed[to]++
		}
	}
	mails, people := 0, 0
	for to, n := range confirmed {
		mails += n
		people++
		if asked[to] != 1 { // once in 90 days, however often somebody books
			t.Errorf("%s was confirmed %d bookings and asked for %d reviews", to, n, asked[to])
		}
	}
	if mails != done || people >= mails {
		t.Errorf("%d confirmations to %d people for %d bookings", mails, people, done)
	}
}

func lines(t *testing.T, file string) []map[string]any {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []map[string]any
	for s := bufio.NewScanner(f); s.Scan(); {
		var v map[string]any
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}
