package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// HTTP calls endpoints by POST: JSON there and back, the connection's secret as
// a bearer token. Redirects are not followed, since they would take work and
// secret elsewhere.
type HTTP struct {
	client *http.Client
}

// NewHTTP makes a caller. transport nil: the default one.
func NewHTTP(transport http.RoundTripper) HTTP {
	return HTTP{&http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Call makes one request. An answer of 2xx is the body. 429 and 4xx say that
// nothing was done; after 5xx, 408, a lost connection or a time-out nobody knows.
func (h HTTP) Call(ctx context.Context, req Request) ([]byte, error) {
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, req.URL, bytes.NewReader(req.Body))
	if err != nil || !secure(post.URL) {
		return nil, worker.NotDone(worker.Fatal("the charter's url is no https address"))
	}
	post.Header.Set("Content-Type", "application/json")
	post.Header.Set("Accept", "application/json")
	post.Header.Set("User-Agent", "outerloop")
	for _, pair := range req.About.Pairs() {
		post.Header.Set(pair[0], pair[1])
	}
	if req.Secret != "" {
		post.Header.Set("Authorization", "Bearer "+req.Secret)
	}
	resp, err := h.client.Do(post)
	if err != nil {
		return nil, unreachable(post.URL.Host, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxAnswer+1))
	switch {
	case resp.StatusCode/100 != 2:
		return nil, refused(post.URL.Host, resp, body)
	case err != nil:
		return nil, worker.Transient("reading the answer of %s: %w", post.URL.Host, err)
	case len(body) > MaxAnswer:
		return nil, worker.InvalidOutput("%s answers with over %d bytes", post.URL.Host, MaxAnswer)
	}
	return body, nil
}

// secure tells whether an address is one that work may be sent to: of https, or
// of this machine.
func secure(u *url.URL) bool {
	host := u.Hostname()
	return u.Scheme == "https" || u.Scheme == "http" && (host == "localhost" || net.ParseIP(host).IsLoopback())
}

// unreachable classes a transport's error, without the address, which may hold
// a key.
func unreachable(host string, err error) error {
	var transport *url.Error
	if errors.As(err, &transport) {
		err = transport.Err
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return worker.NotDone(worker.Transient("reaching %s: %w", host, err))
	}
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) { //nolint:errorlint // the transport's own
		return fmt.Errorf("%s gave no answer in time: %w", host, err)
	}
	return worker.Transient("asking %s: %w", host, err)
}

// refused classes an answer that is none.
func refused(host string, resp *http.Response, body []byte) error {
	says := fmt.Sprintf("%s answers %s", host, resp.Status)
	if why := reason(body); why != "" {
		says += ": " + why
	}
	switch code := resp.StatusCode; {
	case code == http.StatusTooManyRequests:
		return worker.RateLimited(worker.RetryAfter(resp.Header.Get("Retry-After"), time.Now()), "%s", says)
	case code == http.StatusRequestTimeout, code >= 500:
		return worker.Transient("%s", says)
	case code == http.StatusConflict:
		return worker.NotDone(worker.Conflict("%s", says))
	case code == http.StatusBadRequest, code == http.StatusUnprocessableEntity, code == http.StatusRequestEntityTooLarge:
		return worker.NotDone(worker.MissingInput("%s", says))
	case code == http.StatusForbidden:
		return worker.Refused("%s", says)
	case code/100 == 3:
		return worker.NotDone(worker.Fatal("%s, and redirects are not followed: write the address where it leads", says))
	}
	return worker.NotDone(worker.Fatal("%s", says))
}

// longestReason bounds what is told of an error's body, in bytes.
const longestReason = 300

// reason is the text of an error's body where it says one in a usual place: the
// rest may repeat the input.
func reason(body []byte) string {
	var said map[string]json.RawMessage
	if json.Unmarshal(body, &said) != nil {
		return ""
	}
	for _, key := range []string{"message", "detail", "error", "title"} {
		var text string
		if json.Unmarshal(said[key], &text) == nil && text != "" {
			return text[:min(len(text), longestReason)]
		}
	}
	return ""
}
