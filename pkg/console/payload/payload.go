// Package payload carries HTTP through the invocation of a Lambda function: the
// event and the answer are those of function URLs and of HTTP APIs (payload
// format 2.0). So one http.Handler serves a function that is invoked directly,
// with IAM, and one that has a URL; and a client of it is a usual http.Client.
package payload

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// Version is the payload format.
const Version = "2.0"

// MaxAnswer is the largest answer of a synchronous invocation in bytes; what is
// asked may be as large.
const MaxAnswer = 6_291_556

// Request is the event.
type Request struct {
	Version         string            `json:"version"`
	RawPath         string            `json:"rawPath"`
	RawQueryString  string            `json:"rawQueryString"`
	Headers         map[string]string `json:"headers,omitempty"`
	RequestContext  Context           `json:"requestContext"`
	Body            string            `json:"body,omitempty"`
	IsBase64Encoded bool              `json:"isBase64Encoded"`
}

// Context is what the event says about the request as a whole.
type Context struct {
	HTTP HTTP `json:"http"`
}

// HTTP is the request's first line.
type HTTP struct {
	Method string `json:"method"`
	Path   string `json:"path"`
}

// Response is the function's answer.
type Response struct {
	StatusCode      int               `json:"statusCode"`
	Headers         map[string]string `json:"headers,omitempty"`
	Body            string            `json:"body,omitempty"`
	IsBase64Encoded bool              `json:"isBase64Encoded"`
}

// ErrTooLarge says that a request or an answer does not fit into an invocation.
var ErrTooLarge = errors.New("larger than an invocation of a function carries")

// Serve answers events with a handler. tooLarge is the body of the answer that is
// given, with status 413, in place of one that does not fit.
func Serve(h http.Handler, tooLarge []byte) func(ctx context.Context, event json.RawMessage) (json.RawMessage, error) {
	return func(ctx context.Context, event json.RawMessage) (json.RawMessage, error) {
		var in Request
		if err := json.Unmarshal(event, &in); err != nil {
			return nil, fmt.Errorf("reading the event: %w", err)
		}
		r, err := in.request(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading the event: %w", err)
		}
		w := &recorder{head: http.Header{}, status: http.StatusOK}
		h.ServeHTTP(w, r)
		raw, err := w.answer(acceptsGzip(r))
		if err != nil || len(raw) <= MaxAnswer {
			return raw, err
		}
		w.status, w.body = http.StatusRequestEntityTooLarge, *bytes.NewBuffer(tooLarge)
		return w.answer(false)
	}
}

// request makes the event an HTTP request.
func (in Request) request(ctx context.Context) (*http.Request, error) {
	if in.Version != Version || in.RequestContext.HTTP.Method == "" {
		return nil, fmt.Errorf("it is no HTTP request of payload format %s", Version)
	}
	body := []byte(in.Body)
	if in.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(in.Body); err != nil {
			return nil, err
		}
	}
	u, err := url.ParseRequestURI(in.RawPath)
	if err != nil { // some senders have unescaped it
		u = &url.URL{Path: in.RawPath}
	}
	u.RawQuery = in.RawQueryString
	r, err := http.NewRequestWithContext(ctx, in.RequestContext.HTTP.Method, "", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.URL, r.RequestURI = u, u.RequestURI()
	for name, value := range in.Headers {
		r.Header.Set(name, value)
	}
	r.Host = r.Header.Get("Host")
	return r, nil
}

// recorder keeps what a handler writes.
type recorder struct {
	head   http.Header
	status int
	wrote  bool
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header { return w.head }

func (w *recorder) WriteHeader(status int) {
	if !w.wrote {
		w.status, w.wrote = status, true
	}
}

func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// small is a body that is not worth packing.
const small = 16 << 10

func (w *recorder) answer(zip bool) (json.RawMessage, error) {
	out := Response{StatusCode: w.status, Headers: map[string]string{}, Body: w.body.String()}
	for name, values := range w.head {
		out.Headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	switch {
	case zip && w.body.Len() > small:
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, err := z.Write(w.body.Bytes())
		if err := errors.Join(err, z.Close()); err != nil {
			return nil, fmt.Errorf("packing the answer: %w", err)
		}
		out.Body, out.IsBase64Encoded = base64.StdEncoding.EncodeToString(packed.Bytes()), true
		out.Headers["content-encoding"] = "gzip"
	case !utf8.Valid(w.body.Bytes()):
		out.Body, out.IsBase64Encoded = base64.StdEncoding.EncodeToString(w.body.Bytes()), true
	}
	return encode(out)
}

// encode writes JSON without the escapes that only HTML needs: they would make
// a body longer.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if name, _, _ := strings.Cut(part, ";"); strings.TrimSpace(name) == "gzip" {
			return true
		}
	}
	return false
}

// Invoke calls the function synchronously and answers what it returned.
// repeatable says that calling it twice does no harm.
type Invoke func(ctx context.Context, event []byte, repeatable bool) ([]byte, error)

// Transport is the http.RoundTripper of a client that reaches a function by
// invoking it. Host and scheme of a request are of no consequence. What Invoke
// returns for an error is returned as it is.
type Transport struct{ Invoke Invoke }

// RoundTrip sends one request.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	in := Request{
		Version: Version, RawPath: r.URL.EscapedPath(), RawQueryString: r.URL.RawQuery,
		Headers: map[string]string{"accept-encoding": "gzip"}, RequestContext: Context{HTTP{Method: r.Method, Path: r.URL.Path}},
	}
	for name, values := range r.Header {
		in.Headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err := errors.Join(err, r.Body.Close()); err != nil {
			return nil, err
		}
		in.Body = string(body)
		if !utf8.Valid(body) {
			in.Body, in.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
		}
	}
	event, err := encode(in)
	if err != nil {
		return nil, err
	}
	if len(event) > MaxAnswer {
		return nil, fmt.Errorf("a request of %d bytes: %w", len(event), ErrTooLarge)
	}
	raw, err := t.Invoke(r.Context(), event, r.Method == http.MethodGet || r.Method == http.MethodHead)
	if err != nil {
		return nil, err
	}
	return read(r, raw)
}

// read makes the function's answer an HTTP response.
func read(r *http.Request, raw []byte) (*http.Response, error) {
	var out Response
	if err := json.Unmarshal(raw, &out); err != nil || out.StatusCode < 100 || out.StatusCode > 999 {
		return nil, fmt.Errorf("the function's answer is no HTTP response: %.200s", raw)
	}
	body := []byte(out.Body)
	var err error
	if out.IsBase64Encoded {
		if body, err = base64.StdEncoding.DecodeString(out.Body); err != nil {
			return nil, fmt.Errorf("reading the function's answer: %w", err)
		}
	}
	head := http.Header{}
	for name, value := range out.Headers {
		head.Set(name, value)
	}
	if head.Get("Content-Encoding") == "gzip" {
		if body, err = unpack(body); err != nil {
			return nil, fmt.Errorf("reading the function's answer: %w", err)
		}
		head.Del("Content-Encoding")
	}
	return &http.Response{
		StatusCode: out.StatusCode, Status: fmt.Sprintf("%d %s", out.StatusCode, http.StatusText(out.StatusCode)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: head, Request: r,
		ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
	}, nil
}

// maxUnpacked bounds what an answer unpacks to.
const maxUnpacked = 256 << 20

func unpack(packed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(z, maxUnpacked+1))
	if err == nil && len(body) > maxUnpacked {
		err = ErrTooLarge
	}
	return body, errors.Join(err, z.Close())
}
