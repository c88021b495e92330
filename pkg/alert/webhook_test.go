package alert_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/alert"
)

func message() alert.Message {
	return alert.Message{
		ID: "m1", Group: "sales", Subject: "acme: a <!channel> & more", At: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC),
		Lines: []alert.Line{{Kind: "exception", ID: "e1", Loop: "follow-up", Run: "r1", Text: "no <https://evil.example|answer>", Command: "outerloop resolve e1"}},
	}
}

// R36: what Slack gets is text that mentions nobody and links nowhere.
func TestSlackGetsPlainText(t *testing.T) {
	t.Parallel()
	var got map[string]any
	var key string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key = r.Header.Get("Idempotency-Key")
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		fmt.Fprint(w, "ok")
	}))
	t.Cleanup(server.Close)
	if err := (alert.Webhook{URL: server.URL, Plain: true}).Send(t.Context(), message()); err != nil {
		t.Fatal(err)
	}
	text, _ := got["text"].(string)
	if len(got) != 1 || key != "m1" || strings.ContainsAny(text, "<>") || !strings.Contains(text, "outerloop resolve e1") {
		t.Errorf("posted %v with key %s", got, key)
	}
}

// A webhook of one's own gets the fields too, and the bearer token.
func TestWebhookGetsFields(t *testing.T) {
	t.Parallel()
	var got alert.Message
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer hush" {
			t.Errorf("authorization %q", r.Header.Get("Authorization"))
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	if err := (alert.Webhook{URL: server.URL, Bearer: "hush"}).Send(t.Context(), message()); err != nil {
		t.Fatal(err)
	}
	if got.ID != "m1" || len(got.Lines) != 1 || got.Lines[0].Run != "r1" {
		t.Errorf("got %+v", got)
	}
}

// R36: an endpoint that lies, throttles, redirects or is broken: what is tried
// again, what is not, and never a word of the secret.
func TestEndpointsThatDoNotTakeIt(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		answer func(w http.ResponseWriter, r *http.Request)
		later  time.Duration // asked for; 0: none
		final  bool
	}{
		{"throttled, seconds", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "90")
			w.WriteHeader(http.StatusTooManyRequests)
		}, 90 * time.Second, false},
		{"throttled, a date", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", now.Add(time.Hour).Format(http.TimeFormat))
			w.WriteHeader(http.StatusServiceUnavailable)
		}, time.Hour, false},
		{"throttled without a word", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }, 0, false},
		{"broken", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, 0, false},
		{"gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, 0, true},
		{"wrong secret", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, 0, true},
		{"elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://evil.example/", http.StatusTemporaryRedirect)
		}, 0, true},
		{"200 that says no", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"ok":false,"error":"invalid http://%s%s"}`, r.Host, r.URL.Path)
		}, 0, false},
		{"longer than it says", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "ok")
			panic(http.ErrAbortHandler)
		}, 0, false},
		{"hung up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(c.answer))
			t.Cleanup(server.Close)
			err := alert.Webhook{URL: server.URL + "/services/T0/hush-hush", Plain: true, Clock: func() time.Time { return now }}.Send(t.Context(), message())
			if err == nil || strings.Contains(err.Error(), "hush") {
				t.Fatalf("error %v", err)
			}
			var later *alert.LaterError
			asked := time.Duration(0)
			if errors.As(err, &later) {
				asked = later.Until.Sub(now)
			}
			if asked != c.later || errors.Is(err, alert.ErrRefused) != c.final {
				t.Errorf("%v: asks to wait %s, final %v", err, asked, errors.Is(err, alert.ErrRefused))
			}
		})
	}
}

// R36: an endpoint that never answers, and one that never stops, hold nobody up.
func TestHangingEndpointIsLeft(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"no answer": func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body); <-r.Context().Done() },
		"drip by drip": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			for range 200 {
				select {
				case <-r.Context().Done():
					return
				case <-time.After(50 * time.Millisecond):
					fmt.Fprint(w, " ")
					w.(http.Flusher).Flush()
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(answer)
			t.Cleanup(server.Close)
			begun := time.Now()
			err := alert.Webhook{URL: server.URL}.Send(t.Context(), message())
			if took := time.Since(begun); err == nil || took > 8*time.Second {
				t.Errorf("after %s: %v", took, err)
			}
		})
	}
}

// R76: secrets are read by name; what cannot be made is named and goes to the log.
func TestChannelsOfTheProject(t *testing.T) {
	t.Parallel()
	p := declared(t, `
project: acme
zone: UTC
people: {lead: {email: lead@acme.example}}
groups:
  a: {members: [lead], alert: [chat, own, pages, email]}
  b: {members: [lead], alert: [lost]}
connections:
  chat: {kind: slack, secret: slack-hook}
  own: {kind: webhook, url: "https://alerts.acme.example", secret: own-token}
  pages: {kind: files}
  lost: {kind: slack, secret: no-such}
  post: {kind: smtp, url: "smtp://mail.acme.example:587", from: loops@acme.example}
`)
	channels, faults := alert.Channels(p, alert.With{Secret: func(name string) (string, error) {
		value, ok := map[string]string{"slack-hook": "https://hooks.example/hush\n", "own-token": "hush"}[name]
		if !ok {
			return "", fmt.Errorf("secret %s is not set", name)
		}
		return value, nil
	}})
	if got, ok := channels["chat"].(alert.Webhook); !ok || got.URL != "https://hooks.example/hush" || !got.Plain {
		t.Errorf("chat is %T", channels["chat"])
	}
	if got, ok := channels["own"].(alert.Webhook); !ok || got.Bearer != "hush" || got.Plain {
		t.Errorf("own is %T", channels["own"])
	}
	if got, ok := channels["email"].(alert.Mail); !ok || got.Address != "mail.acme.example:587" {
		t.Errorf("email is %+v", channels["email"])
	}
	text := errors.Join(faults...).Error()
	if len(faults) != 2 || !strings.Contains(text, "kind \"files\"") || !strings.Contains(text, "no-such is not set") || strings.Contains(text, "hush") {
		t.Errorf("faults: %v", faults)
	}
}

// A mail has the people, a readable subject, and nothing of a line that somebody else wrote in its head.
func TestMailGoesToTheGroup(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	go func() { got <- smtpServer(listener) }()
	m := message()
	m.To, m.Subject = []string{"lead@acme.example", "deputy@acme.example"}, "Straße\r\nBcc: all@acme.example"
	if err := (alert.Mail{Address: listener.Addr().String(), From: "loops@acme.example"}).Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	said := <-got
	for _, want := range []string{"RCPT TO:<lead@acme.example>", "RCPT TO:<deputy@acme.example>", "Message-ID: <m1@acme.example>", "Subject: =?utf-8?q?"} {
		if !strings.Contains(said, want) {
			t.Errorf("the mail lacks %q:\n%s", want, said)
		}
	}
	if strings.Contains(said, "\nBcc:") {
		t.Errorf("a subject made a line of the head:\n%s", said)
	}
}

// smtpServer takes one mail and answers all that was said.
func smtpServer(l net.Listener) string {
	conn, err := l.Accept()
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	var all strings.Builder
	fmt.Fprint(conn, "220 here\r\n")
	buf := make([]byte, 8192)
	data := false
	for {
		n, err := conn.Read(buf)
		if errors.Is(err, io.EOF) || n == 0 {
			return all.String()
		}
		text := string(buf[:n])
		all.WriteString(text)
		switch {
		case data && strings.HasSuffix(text, "\r\n.\r\n"):
			data = false
			fmt.Fprint(conn, "250 taken\r\n")
		case data:
		case strings.HasPrefix(text, "DATA"):
			data = true
			fmt.Fprint(conn, "354 go\r\n")
		case strings.HasPrefix(text, "QUIT"):
			fmt.Fprint(conn, "221 bye\r\n")
			return all.String()
		default:
			fmt.Fprint(conn, "250 ok\r\n")
		}
	}
}
