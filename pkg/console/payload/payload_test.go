package payload_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/console/payload"
)

// echo answers with what it was asked.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("X-Asked", r.Method+" "+r.URL.EscapedPath()+"?"+r.URL.RawQuery+" "+r.Header.Get("X-Test")+" "+r.Host)
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write(body)
})

func through(h http.Handler) payload.Transport {
	serve := payload.Serve(h, []byte("too large"))
	return payload.Transport{Invoke: func(ctx context.Context, event []byte, _ bool) ([]byte, error) { return serve(ctx, event) }}
}

// What is sent comes out: method, path as it is escaped, query, headers, bodies
// of any bytes, large ones packed.
func TestHTTPThroughAnInvocation(t *testing.T) {
	t.Parallel()
	c := http.Client{Transport: through(echo)}
	for _, body := range []string{"", "a<b>&\u2028", "\x00\xff\xfe", strings.Repeat("long ", 1<<20)} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://x/a%2Fb/../%C3%BC?q=%20&r", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Test", "one")
		res, err := c.Do(r)
		if err != nil {
			t.Fatalf("%.20q: %v", body, err)
		}
		got, err := io.ReadAll(res.Body)
		if err != nil || string(got) != body || res.StatusCode != http.StatusAccepted {
			t.Errorf("%.20q comes back as %.20q, %s, %v", body, got, res.Status, err)
		}
		if asked := res.Header.Get("X-Asked"); !strings.HasPrefix(asked, "PUT /a%2Fb/../%C3%BC?q=%20&r one") {
			t.Errorf("asked %q", asked)
		}
	}
}

// The event of a function URL, as AWS sends it, is served.
func TestAnEventOfAFunctionURL(t *testing.T) {
	t.Parallel()
	event := `{"version":"2.0","routeKey":"$default","rawPath":"/v1/x y","rawQueryString":"a=1","cookies":["c=1"],
		"headers":{"host":"abc.lambda-url.eu-central-1.on.aws","x-test":"one"},
		"requestContext":{"accountId":"1","http":{"method":"POST","path":"/v1/x y","protocol":"HTTP/1.1","sourceIp":"192.0.2.1"}},
		"body":"aGk=","isBase64Encoded":true}`
	raw, err := payload.Serve(echo, nil)(t.Context(), json.RawMessage(event))
	var out payload.Response
	if err := errors.Join(err, json.Unmarshal(raw, &out)); err != nil {
		t.Fatal(err)
	}
	if out.StatusCode != http.StatusAccepted || out.Body != "hi" || out.Headers["x-asked"] != "POST /v1/x%20y?a=1 one abc.lambda-url.eu-central-1.on.aws" {
		t.Errorf("%+v", out)
	}
	for _, bad := range []string{``, `{}`, `{"version":"1.0"}`, `{"version":"2.0"}`, `{"version":"2.0","requestContext":{"http":{"method":"A B"}}}`,
		`{"version":"2.0","requestContext":{"http":{"method":"GET"}},"body":"%","isBase64Encoded":true}`} {
		if _, err := payload.Serve(echo, nil)(t.Context(), json.RawMessage(bad)); err == nil {
			t.Errorf("%s is served", bad)
		}
	}
}

// An answer that does not fit is replaced by one that says so; what is no answer
// is an error that shows it.
func TestWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	large := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 7 {
			_, _ = w.Write(bytes.Repeat([]byte("x"), 1<<20))
		}
	})
	raw, err := payload.Serve(large, []byte("too large"))(t.Context(), json.RawMessage(`{"version":"2.0","rawPath":"/","requestContext":{"http":{"method":"GET"}}}`))
	if err != nil || len(raw) > 1000 || !bytes.Contains(raw, []byte(`"statusCode":413`)) {
		t.Errorf("%.200s, %v", raw, err)
	}
	c := http.Client{Transport: payload.Transport{Invoke: func(context.Context, []byte, bool) ([]byte, error) { return []byte(`{"errorMessage":"x"}`), nil }}}
	if _, err := c.Get("http://x/"); err == nil || !strings.Contains(err.Error(), `{"errorMessage":"x"}`) {
		t.Errorf("no HTTP response: %v", err)
	}
	if _, err := (&http.Client{Transport: through(echo)}).Post("http://x/", "text/plain", strings.NewReader(strings.Repeat("x", 7<<20))); !errors.Is(err, payload.ErrTooLarge) {
		t.Errorf("7 MB asked: %v", err)
	}
}

// FuzzServe takes any event, and any answer of a function: nothing panics.
func FuzzServe(f *testing.F) {
	f.Add([]byte(`{"version":"2.0","rawPath":"/a%2F","rawQueryString":"a=%","headers":{"accept-encoding":"gzip"},"requestContext":{"http":{"method":"GET"}}}`))
	f.Add([]byte(`{"statusCode":200,"headers":{"content-encoding":"gzip"},"body":"H4sIAAAAAAAA/w==","isBase64Encoded":true}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if out, err := payload.Serve(echo, nil)(t.Context(), raw); err == nil && !json.Valid(out) {
			t.Errorf("%s answers %s", raw, out)
		}
		c := http.Client{Transport: payload.Transport{Invoke: func(context.Context, []byte, bool) ([]byte, error) { return raw, nil }}}
		if res, err := c.Get("http://x/"); err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		}
	})
}
