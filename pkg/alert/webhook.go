package alert

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// sendWithin bounds one try of a webhook, from the connection to the last byte.
const sendWithin = 5 * time.Second

// Webhook is an endpoint that takes messages as JSON: Slack's incoming webhooks
// and what is compatible to them, Teams, or one's own.
type Webhook struct {
	// URL is where to post. It is often the secret itself: it stands in no error.
	URL string
	// Bearer is sent as the authorization, where the URL is no secret; empty: none.
	Bearer string
	// Plain posts only {"text"}, as Slack and Teams want it; else the whole
	// message stands beside it.
	Plain bool
	// Client does the call; nil: one that follows no redirects. Its time-out is
	// kept below 5 s whatever it says.
	Client *http.Client
	// Clock is for Retry-After; nil: the system's.
	Clock func() time.Time
}

// payload is what is posted.
type payload struct {
	Text string `json:"text"`
	*Message
}

var strict = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// Send posts the message once. Answers: 2xx is success, unless the body is JSON
// that says "ok": false; 408, 429 and 5xx are to be tried again, not before
// Retry-After; all else is refused. The message's id is the Idempotency-Key.
func (w Webhook) Send(ctx context.Context, m Message) error {
	ctx, cancel := context.WithTimeout(ctx, sendWithin)
	defer cancel()
	req, err := w.request(ctx, m)
	if err != nil {
		return err
	}
	client := w.Client
	if client == nil {
		client = strict
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("posting the alert: %w", bare(err))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil && resp.StatusCode/100 == 2 {
		return fmt.Errorf("the endpoint's answer broke off: %w", bare(err))
	}
	return w.answered(resp, body)
}

func (w Webhook) request(ctx context.Context, m Message) (*http.Request, error) {
	p := payload{Text: m.Text(), Message: &m}
	if w.Plain {
		p = payload{Text: escape(m.Text())}
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("writing the alert: %w", err)
	}
	target, err := url.Parse(w.URL)
	if err != nil || target.Host == "" || target.Scheme != "https" && target.Scheme != "http" {
		return nil, fmt.Errorf("the endpoint's address is no http(s) URL: %w", ErrRefused)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("the endpoint's address is not usable: %w", ErrRefused)
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("Idempotency-Key", m.ID)
	if w.Bearer != "" {
		req.Header.Set("Authorization", "Bearer "+w.Bearer)
	}
	return req, nil
}

func (w Webhook) answered(resp *http.Response, body []byte) error {
	code := resp.StatusCode
	switch {
	case code/100 == 2:
		var said struct {
			OK    *bool  `json:"ok"`
			Error string `json:"error"`
		}
		if json.Unmarshal(body, &said) == nil && said.OK != nil && !*said.OK {
			return fmt.Errorf("the endpoint answered %d and not ok: %s", code, cut(w.hide(said.Error), 100))
		}
		return nil
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code/100 == 5:
		why := fmt.Sprintf("the endpoint answered %d", code)
		now := time.Now
		if w.Clock != nil {
			now = w.Clock
		}
		if until := worker.RetryAfter(resp.Header.Get("Retry-After"), now()); !until.IsZero() {
			return &LaterError{Until: until, Why: why}
		}
		return errors.New(why)
	}
	return fmt.Errorf("the endpoint answered %d: %w", code, ErrRefused)
}

// hide takes address and secret out of what an endpoint says.
func (w Webhook) hide(text string) string {
	for _, secret := range []string{w.URL, w.Bearer} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return text
}

// bare is an error without the URL that net/http puts around it.
func bare(err error) error {
	var around *url.Error
	if errors.As(err, &around) {
		return around.Err
	}
	return err
}

// escape keeps what models and people wrote from being read as Slack's markup:
// no mention of a channel, no link with another text.
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}
