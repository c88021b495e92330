package coordinator_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

// What a fact marks sensitive is in no list, output, fact, action or alert, under
// whatever fact or step it stands; who decides reads it with Reveal, and an edit
// made of what was shown without it is refused (R25).
func TestSensitiveFieldsAreHidden(t *testing.T) {
	t.Parallel()
	const secret = "anna@customer.example"
	project := strings.Replace(projectFile, "facts:\n", "facts:\n  person/*: {schema: {type: object, properties: {who: {type: object, properties: {text: {type: string}}}}}, sensitive: [who.text]}\n", 1)
	project = strings.Replace(project, "groups:\n", "groups:\n  bosses: {members: [eve], alert: [email]}\n  others: {members: [bob], alert: [email]}\n", 1)
	w := newWorld(t, files(strings.ReplaceAll(remindLoop, "Send ${input.key}?", "Send to ${input.key}?")+"output: {text: \"${input.key}\"}\n", map[string]string{"outerloop.yaml": project}))
	usual(w)
	run := start(t, w, `{"key":"`+secret+`"}`)
	w.run(time.Minute, 200)
	ap := asked(t, w)
	if string(ap.Content) != `{"text":"[redacted]"}` || ap.Ask != "Send to [redacted]?" {
		t.Errorf("listed as %s, asking %q", ap.Content, ap.Ask)
	}
	seen, err := w.coord.Approval(coordinator.Reveal(w.ctx), ap.ID)
	if err != nil || !strings.Contains(string(seen.Content), secret) || !strings.Contains(seen.Ask, secret) {
		t.Errorf("revealed as %s, asking %q: %v", seen.Content, seen.Ask, err)
	}
	w.now = ap.Since.Add(91 * time.Minute)
	if _, err := w.coord.Watch(w.ctx); err != nil {
		t.Fatal(err)
	}
	if len(w.alerts) == 0 {
		t.Error("nobody was reminded")
	}
	for _, a := range w.alerts {
		if strings.Contains(a.Text, secret) {
			t.Errorf("an alert says %q", a.Text)
		}
	}
	var wrong *coordinator.InputError
	if err := decide(w, ap, coordinator.Approve, "ann", string(ap.Content)); !errors.As(err, &wrong) {
		t.Errorf("an edit of what was hidden: %v", err)
	}
	if err := decide(w, ap, coordinator.Approve, "ann", ""); err != nil {
		t.Fatal(err)
	}
	w.run(time.Minute, 200)
	if view, err := w.coord.Run(w.ctx, run); err != nil || string(view.Output) != `{"text":"[redacted]"}` {
		t.Errorf("the run's output is %s: %v", view.Output, err)
	}
}
