package mailer_test

import (
	"context"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/functions/workers/mailer"
	"github.com/outerloop-dev/outerloop/pkg/worker"
	"github.com/outerloop-dev/outerloop/pkg/worker/workertest"
)

func setup(dir string) workertest.Setup {
	return workertest.Setup{
		Action: "send-follow-up",
		AsOf:   time.Date(2026, 11, 30, 7, 0, 0, 0, time.FixedZone("", 3600)),
		Connections: map[string]worker.Connection{"mail": {
			Name: "mail", Kind: "outbox", Settings: map[string]string{"dir": dir, "from": "Sales <sales@acme.example>"},
		}},
	}
}

func input() mailer.Input {
	return mailer.Input{
		To:      "ana.gomez@mueller.example",
		Subject: "Your project für Müller, Söhne & Co. KG: a subject that is long enough to need more than one line of a mail",
		Body:    "Hello Ana Gómez,\n\n" + strings.Repeat("a long line ", 20) + "\n.\nFrom here = 100% ☕\n\nBest regards\nNora Weiß\n",
	}
}

func mails(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestSendWritesAValidMail(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "outbox")
	o := workertest.Run(t, mailer.Worker, input(), setup(dir))
	out := workertest.Output[mailer.Output](t, o)
	names := mails(t, dir)
	if len(names) != 1 || !strings.HasPrefix(names[0], "ana.gomez@mueller.example-") || !strings.HasSuffix(names[0], ".eml") {
		t.Fatalf("outbox holds %v", names)
	}
	raw, err := os.ReadFile(filepath.Join(dir, names[0]))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(raw), "\n") {
		if line != "" && !strings.HasSuffix(line, "\r") || len(line) > 77 {
			t.Errorf("line of %d bytes: %q", len(line), line)
		}
	}
	m, err := mail.ReadMessage(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	if subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil || subject != input().Subject {
		t.Errorf("subject %q, %v", subject, err)
	}
	if date, err := m.Header.Date(); err != nil || !date.Equal(setup("").AsOf) {
		t.Errorf("date %v, %v", date, err)
	}
	for _, field := range []string{"From", "To"} {
		if list, err := m.Header.AddressList(field); err != nil || len(list) != 1 {
			t.Errorf("%s: %v, %v", field, list, err)
		}
	}
	if id := m.Header.Get("Message-ID"); id != out.MessageID || !strings.HasSuffix(id, "@acme.example>") || len(id) < 40 {
		t.Errorf("Message-ID %q, result %q", id, out.MessageID)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil || strings.ReplaceAll(string(body), "\r\n", "\n") != input().Body {
		t.Errorf("body %q, %v", body, err)
	}
	if len(o.Actions) != 1 || o.Actions[0].Outcome != "done" || o.Result.Evidence[0].Source != "action:run:send-follow-up" {
		t.Errorf("actions %+v, evidence %+v", o.Actions, o.Result.Evidence)
	}
}

func TestSubjects(t *testing.T) {
	t.Parallel()
	for _, subject := range []string{
		"Plain", "Two  spaces and a long subject that must be folded somewhere near its seventy-eighth character, twice even",
		"太郎さんへ" + strings.Repeat("、長い題名", 12), "=?utf-8?q?not_encoded?=", strings.Repeat("x", 150), "☕ " + strings.Repeat("y", 140),
	} {
		dir := t.TempDir()
		in := input()
		in.Subject = subject
		workertest.Output[mailer.Output](t, workertest.Run(t, mailer.Worker, in, setup(dir)))
		raw, err := os.ReadFile(filepath.Join(dir, mails(t, dir)[0]))
		if err != nil {
			t.Fatal(err)
		}
		m, err := mail.ReadMessage(strings.NewReader(string(raw)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil || got != subject {
			t.Errorf("%q became %q, %v", subject, got, err)
		}
	}
}

// The same action is one mail, however often its step runs (R37).
func TestSendOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := setup(dir)
	s.Gate = &workertest.Gate{}
	first := workertest.Output[mailer.Output](t, workertest.Run(t, mailer.Worker, input(), s))
	second := workertest.Output[mailer.Output](t, workertest.Run(t, mailer.Worker, input(), s))
	if first != second || len(mails(t, dir)) != 1 {
		t.Errorf("%+v and %+v; outbox %v", first, second, mails(t, dir))
	}
}

// lost makes the outcome of a first, successful send unknown.
func lost(t *testing.T, s workertest.Setup) {
	t.Helper()
	workertest.Run(t, mailer.Worker, input(), s)
	entry := s.Gate.Log["run:send-follow-up"]
	entry.State, entry.Result = "unknown", nil
}

// The mail was accepted, then the answer was lost: Verify finds it by its
// Message-ID. Without the look-up there are two: the outbox knows no duplicates.
func TestUnknownOutcomeIsVerified(t *testing.T) {
	t.Parallel()
	blind := func(context.Context, worker.VerifyRequest) (worker.Verification, error) {
		return worker.Verification{Finding: worker.NotFound}, nil
	}
	for name, c := range map[string]struct {
		look  func(context.Context, worker.VerifyRequest) (worker.Verification, error)
		mails int
	}{"with look-up": {mailer.Verify, 1}, "without look-up": {blind, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := setup(dir)
			s.Gate = &workertest.Gate{}
			lost(t, s)
			w := mailer.Worker
			worker.WithVerify(c.look)(&w)
			out := workertest.Output[mailer.Output](t, workertest.Run(t, w, input(), s))
			if len(mails(t, dir)) != c.mails || out.MessageID == "" || out.To != input().To {
				t.Errorf("outbox %v, result %+v", mails(t, dir), out)
			}
		})
	}
}

func TestVerifyDoesNotFindWhatIsNotThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := setup(dir)
	s.Gate = &workertest.Gate{}
	lost(t, s)
	for _, name := range mails(t, dir) { // the process died before the mail was whole
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, "."+strings.TrimSuffix(name, ".eml")+".draft")); err != nil {
			t.Fatal(err)
		}
	}
	workertest.Output[mailer.Output](t, workertest.Run(t, mailer.Worker, input(), s))
	if names := mails(t, dir); len(names) != 1 || !strings.HasSuffix(names[0], ".eml") {
		t.Errorf("outbox %v", names)
	}
}

// What certainly was not sent may be sent again; nothing leaks into headers.
func TestSendRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		in     func(*mailer.Input)
		setup  func(*workertest.Setup)
		class  string
		action string
	}{
		"header in the subject": {in: func(in *mailer.Input) { in.Subject = "Hi\r\nBcc: x@y.example" }, class: "missing_input", action: "failed"},
		"two recipients":        {in: func(in *mailer.Input) { in.To = "a@b.example, c@d.example" }, class: "missing_input", action: "failed"},
		"name and address":      {in: func(in *mailer.Input) { in.To = "A <a@b.example>" }, class: "missing_input", action: "failed"},
		"no directory":          {setup: func(s *workertest.Setup) { s.Connections["mail"].Settings["dir"] = "" }, class: "fatal"},
		"no connection":         {setup: func(s *workertest.Setup) { s.Connections = nil }, class: "fatal"},
		"another kind": {setup: func(s *workertest.Setup) {
			s.Connections["mail"] = worker.Connection{Name: "mail", Kind: "ses"}
		}, class: "fatal"},
		"no action":              {setup: func(s *workertest.Setup) { s.Action = "" }, class: "fatal"},
		"outbox is a file":       {setup: func(s *workertest.Setup) { s.Connections["mail"].Settings["dir"] = file }, class: "transient", action: "failed"},
		"sender without address": {setup: func(s *workertest.Setup) { s.Connections["mail"].Settings["from"] = "Sales" }, class: "fatal"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, s := input(), setup(t.TempDir())
			s.Gate = &workertest.Gate{}
			if c.in != nil {
				c.in(&in)
			}
			if c.setup != nil {
				c.setup(&s)
			}
			o := workertest.Run(t, mailer.Worker, in, s)
			if o.Failure == nil || string(o.Failure.Class) != c.class {
				t.Fatalf("%+v, want %s", o.Failure, c.class)
			}
			if e := s.Gate.Log["run:send-follow-up"]; c.action != "" && (e == nil || e.State != c.action) {
				t.Errorf("action %+v, want %s", e, c.action)
			}
		})
	}
}

// service is a mail service; fail is what it says instead of sending.
type service struct {
	sent []string
	fail error
}

func (s *service) Send(_ context.Context, from, to string, message []byte) (string, error) {
	s.sent = append(s.sent, from+" "+to+" "+string(message[:5]))
	return "id-1", s.fail
}

// Over a mail service a mail is sent once; what it refuses is known not to be
// sent, and of an answer that was lost nobody can tell (R37).
func TestSendOverAService(t *testing.T) {
	t.Parallel()
	over := func(m *service) workertest.Setup {
		s := setup("")
		s.Gate = &workertest.Gate{}
		s.Connections = map[string]worker.Connection{"mail": {Name: "mail", Kind: "ses", Mail: m, Settings: map[string]string{"from": "sales@acme.example"}}}
		return s
	}
	m := &service{}
	s := over(m)
	for range 2 {
		o := workertest.Run(t, mailer.Worker, input(), s)
		if out := workertest.Output[mailer.Output](t, o); out.MessageID != "<id-1@amazonses.com>" || o.Result.Reason != "The mail service took the mail." {
			t.Errorf("%+v, %s", out, o.Result.Reason)
		}
	}
	if len(m.sent) != 1 || m.sent[0] != "sales@acme.example ana.gomez@mueller.example From:" {
		t.Errorf("sent %q", m.sent)
	}
	for _, c := range []struct {
		fail  error
		class string
	}{{worker.Refused("rejected"), "refused"}, {worker.Transient("lost"), "transient"}} {
		o := workertest.Run(t, mailer.Worker, input(), over(&service{fail: c.fail}))
		if o.Failure == nil || string(o.Failure.Class) != c.class {
			t.Errorf("%v: %+v", c.fail, o.Failure)
		}
	}
	unnamed := over(m)
	unnamed.Connections["mail"] = worker.Connection{Name: "mail", Kind: "ses", Mail: m}
	if o := workertest.Run(t, mailer.Worker, input(), unnamed); o.Failure == nil || string(o.Failure.Class) != "fatal" {
		t.Errorf("without a sender: %+v", o.Failure)
	}
}
