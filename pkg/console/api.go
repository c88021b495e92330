package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// maxBody bounds what is asked: what fits into one invocation of a function.
const maxBody = 6 << 20

// serve answers one operation with a value that encodes as JSON.
type serve func(a *api, ctx context.Context, r *request) (any, error)

// request is an operation asked for: the values of its path and query, checked
// to be such as its route has.
type request struct {
	path  map[string]string
	query url.Values
	body  io.Reader
}

type api struct {
	Config
	routes []Route
}

// New makes the API. Every answer is JSON; every error is an ErrorDocument.
func New(cfg Config) http.Handler { return &api{Config: cfg, routes: Routes()} }

// errNoRoute and errMethod are about the address, before any operation.
var (
	errNoRoute = errors.New("there is nothing at this address")
	errMethod  = errors.New("the address takes another method")
)

// ServeHTTP answers one request.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := a.answer(w, r)
	status := http.StatusOK
	if err != nil {
		status, answer = failure(err)
	}
	raw, err := remote.Encode(answer)
	if err != nil {
		status, answer = failure(fmt.Errorf("encoding the answer: %w", err))
		raw, _ = remote.Encode(answer) // two texts always encode
	}
	head := w.Header()
	head.Set("Content-Type", "application/json")
	head.Set("Cache-Control", "no-store")
	head.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(raw) // a caller that went away is told nothing
}

func failure(err error) (int, ErrorDocument) {
	switch {
	case errors.Is(err, errNoRoute):
		return http.StatusNotFound, ErrorDocument{&remote.Error{Code: "no_route", Message: err.Error()}}
	case errors.Is(err, errMethod):
		return http.StatusMethodNotAllowed, ErrorDocument{&remote.Error{Code: "method", Message: err.Error()}}
	}
	e := remote.Wrap(err)
	return e.Status(), ErrorDocument{e}
}

// TooLarge is the document that stands in for an answer that a function cannot
// carry (payload.Serve).
func TooLarge() []byte {
	_, doc := failure(fmt.Errorf("the answer does not fit: %w; ask for less of it, a single step's output or fewer items a page", remote.ErrTooLarge))
	raw, _ := remote.Encode(doc) // two texts always encode
	return raw
}

func (a *api) answer(w http.ResponseWriter, r *http.Request) (any, error) {
	route, path, err := a.find(r)
	if err != nil {
		return nil, err
	}
	query, err := checkQuery(route, r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	req := &request{path: path, query: query}
	if route.Body != nil {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			return nil, fmt.Errorf("%w: the body's Content-Type is to be application/json", remote.ErrRequest)
		}
		req.body = http.MaxBytesReader(w, r.Body, maxBody)
	}
	return route.serve(a, r.Context(), req)
}

// find is the route of a request's address, with what the address names. A name
// may hold anything, a slash or dots too, when it is escaped.
func (a *api) find(r *http.Request) (*Route, map[string]string, error) {
	segments := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	var methods []string
	for i := range a.routes {
		named, ok := match(a.routes[i].Path, segments)
		switch {
		case !ok:
		case a.routes[i].Method == r.Method || r.Method == http.MethodHead && a.routes[i].Method == http.MethodGet:
			return &a.routes[i], named, nil
		default:
			methods = append(methods, a.routes[i].Method)
		}
	}
	if len(methods) > 0 {
		return nil, nil, fmt.Errorf("%w: %s", errMethod, strings.Join(methods, ", "))
	}
	return nil, nil, errNoRoute
}

func match(pattern string, segments []string) (map[string]string, bool) {
	parts := strings.Split(strings.TrimPrefix(pattern, "/"), "/")
	if len(parts) != len(segments) {
		return nil, false
	}
	named := map[string]string{}
	for i, part := range parts {
		value, err := url.PathUnescape(segments[i])
		switch {
		case err != nil || value == "":
			return nil, false
		case strings.HasPrefix(part, "{"):
			named[strings.Trim(part, "{}")] = value
		case part != value:
			return nil, false
		}
	}
	return named, true
}

// checkQuery demands that a query has only what its route takes, once each.
func checkQuery(route *Route, raw string) (url.Values, error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", remote.ErrRequest, err)
	}
	for name, values := range query {
		if len(values) > 1 || !slices.ContainsFunc(route.Query, func(p Param) bool { return p.Name == name }) {
			return nil, fmt.Errorf("%w: %s takes no such %q, or only once", remote.ErrRequest, route.Path, name)
		}
	}
	for _, p := range route.Query {
		if err := p.check(query.Get(p.Name)); err != nil {
			return nil, err
		}
	}
	return query, nil
}

const mostItems = 1000

func (p Param) check(value string) error {
	var err error
	switch {
	case value == "" && p.Required:
		err = errors.New("is required")
	case value == "":
	case p.Kind == "integer":
		n, parseErr := strconv.Atoi(value)
		if parseErr != nil || n < 1 || n > mostItems {
			err = fmt.Errorf("is a number from 1 to %d", mostItems)
		}
	case p.Kind == "boolean" && value != "true" && value != "false":
		err = errors.New("is true or false")
	}
	if err != nil {
		return fmt.Errorf("%w: %s %w", remote.ErrRequest, p.Name, err)
	}
	return nil
}

// limit is the number asked for; 0: none was.
func (r *request) limit() int {
	n, err := strconv.Atoi(r.query.Get("limit"))
	if err != nil {
		return 0 // absent: it was checked before
	}
	return n
}

// decode reads the body into a request's own type; an empty one is {}.
func (r *request) decode(into any) error {
	raw, err := io.ReadAll(r.body)
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return fmt.Errorf("the body has more than %d bytes: %w", large.Limit, remote.ErrTooLarge)
	}
	if err != nil {
		return fmt.Errorf("%w: reading the body: %w", remote.ErrRequest, err)
	}
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	return remote.Decode(raw, into)
}

// do forwards a use.
func (a *api) do(ctx context.Context, use string, body any) (any, error) {
	if a.Forward == nil {
		return nil, fmt.Errorf("the API only reads: %w", store.ErrReadOnly)
	}
	raw, err := remote.Encode(body)
	if err != nil {
		return nil, err
	}
	return a.Forward.Do(ctx, remote.Call{Use: use, Request: raw})
}
