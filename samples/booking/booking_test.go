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
		Root: "../..", Now: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC), Loops: []string{"booking"},
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

// The day's payments: every confirmed one is a booking served once, however
// often its webhook comes; what the provider does not confirm stops before
// anything is done (R1, R9, R37).
func TestDayOfPayments(t *testing.T) {
	t.Parallel()
	w := world(t)
	runs := map[string]string{}
	for _, body := range lines(t, "webhooks.jsonl") {
		input, ok := inputOf(body)
		if !ok {
			continue
		}
		run := w.Start("booking", input)
		if before, again := runs[input["booking"]]; again && before != run {
			t.Errorf("%s has two runs", input["booking"])
		}
		runs[input["booking"]] = run
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

// inputOf is what the loop's trigger makes of a webhook's body.
func inputOf(body map[string]any) (map[string]string, bool) {
	text := func(name string) string { s, _ := body[name].(string); return s }
	in := map[string]string{"booking": text("booking"), "name": text("name"), "email": text("email"), "ends_at": text("session_end")}
	return in, text("type") == "payment.confirmed" && strings.HasPrefix(in["booking"], "BK-") && in["ends_at"] != ""
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
