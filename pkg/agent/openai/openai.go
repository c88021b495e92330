// Package openai asks models behind OpenAI-compatible chat completions: the
// original, and Ollama, vLLM, LM Studio, llama.cpp and hosted ones. It uses
// net/http alone.
package openai

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
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/worker"
)

// Format is how an endpoint is asked for structured output.
type Format string

// The formats. Whatever the format, answers are checked by the schema here.
const (
	// FormatSchema sends the JSON Schema as response_format.
	FormatSchema Format = "json_schema"
	// FormatObject asks for any JSON object.
	FormatObject Format = "json_object"
	// FormatText asks for nothing: for endpoints that know no response_format.
	FormatText Format = "text"
)

// Config is an endpoint and a model on it.
type Config struct {
	// URL is the base, such as http://127.0.0.1:11434/v1; /v1 is added where
	// the URL has no path. Needed.
	URL string
	// Model is the provider's name for the model. Needed.
	Model string
	// Key is sent as a bearer token; empty: none.
	Key string
	// Format defaults to FormatSchema.
	Format Format
	// LimitField is the field that bounds the answer: max_completion_tokens for
	// api.openai.com, else max_tokens, unless given.
	LimitField string
	// HTTP defaults to a client without a timeout: the context bounds calls.
	// Redirects are not followed: a task's data goes where it was configured to.
	HTTP *http.Client
	// Now is the clock of Retry-After; nil: time.Now.
	Now func() time.Time
}

// Model is a model behind an endpoint. It is safe for concurrent use.
type Model struct {
	cfg      Config
	endpoint string
}

// New checks a configuration.
func New(cfg Config) (*Model, error) {
	base, err := url.Parse(cfg.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("model %q: %q is not a URL such as http://127.0.0.1:11434/v1", cfg.Model, cfg.URL)
	}
	if cfg.Model == "" {
		return nil, errors.New("a model's name is needed")
	}
	if strings.Trim(base.Path, "/") == "" {
		base.Path = "/v1"
	}
	if cfg.Format == "" {
		cfg.Format = FormatSchema
	}
	if cfg.LimitField == "" {
		cfg.LimitField = "max_tokens"
		if base.Hostname() == "api.openai.com" {
			cfg.LimitField = "max_completion_tokens"
		}
	}
	client := http.Client{}
	if cfg.HTTP != nil {
		client = *cfg.HTTP
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	cfg.HTTP = &client
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Model{cfg, base.JoinPath("chat", "completions").String()}, nil
}

// Parse reads what stands after --model: openai:URL, or openai:URL#MODEL where
// the endpoint serves several models. The second result is false when the
// text is of another kind.
func Parse(text string) (Config, bool) {
	rest, found := strings.CutPrefix(text, "openai:")
	if !found {
		return Config{}, false
	}
	address, model, named := strings.Cut(rest, "#")
	if !named || model == "" {
		model = "default"
	}
	return Config{URL: address, Model: model}, true
}

// answerLimit bounds what is read of a response, in bytes.
const answerLimit = 8 << 20

// Ask makes one call of POST /chat/completions.
func (m *Model) Ask(ctx context.Context, req agent.Request) (agent.Answer, error) {
	body, err := m.encode(req)
	if err != nil {
		return agent.Answer{}, worker.Fatal("asking %s: %w", m.cfg.Model, err)
	}
	ctx, cancel := agent.Bounded(ctx, req)
	defer cancel()
	call, err := http.NewRequestWithContext(ctx, http.MethodPost, m.endpoint, bytes.NewReader(body))
	if err != nil {
		return agent.Answer{}, worker.Fatal("asking %s: %w", m.cfg.Model, err)
	}
	call.Header.Set("Content-Type", "application/json")
	if m.cfg.Key != "" {
		call.Header.Set("Authorization", "Bearer "+m.cfg.Key)
	}
	response, err := m.cfg.HTTP.Do(call)
	if err != nil {
		return agent.Answer{}, agent.Interrupted(ctx, m.cfg.Model, err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, answerLimit+1))
	switch {
	case response.StatusCode/100 == 3:
		return agent.Answer{}, worker.Fatal("asking %s: the endpoint sends elsewhere (HTTP %d), which is not followed: give the address that answers", m.cfg.Model, response.StatusCode)
	case response.StatusCode/100 != 2:
		return agent.Answer{}, m.rejected(response, raw)
	case err != nil:
		return agent.Answer{}, agent.Interrupted(ctx, m.cfg.Model, err)
	case len(raw) > answerLimit:
		return agent.Answer{}, m.unreadable(fmt.Errorf("it is longer than %d bytes", answerLimit))
	case !utf8.Valid(raw): // what stands for its broken characters nobody has said
		return agent.Answer{}, m.unreadable(errors.New("it is no UTF-8"))
	}
	return m.decode(raw)
}

func (m *Model) rejected(response *http.Response, body []byte) error {
	code, message := errorWords(body)
	return agent.Rejected(m.cfg.Model, agent.Rejection{
		Status: response.StatusCode, Code: code, Message: message,
		RetryAfter: worker.RetryAfter(response.Header.Get("Retry-After"), m.cfg.Now()),
	})
}

// errorWords reads the error of a response in the forms that endpoints use:
// {"error": {code, type, message}}, {"error": "…"}, {"detail": …}, {"message": …}.
func errorWords(body []byte) (code, message string) {
	var e struct {
		Error   json.RawMessage `json:"error"`
		Detail  json.RawMessage `json:"detail"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(body, &e) != nil {
		return "", ""
	}
	var inner struct {
		Code    any    `json:"code"`
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	if json.Unmarshal(e.Error, &inner) == nil {
		code = inner.Type
		if word, ok := inner.Code.(string); ok {
			code += " " + word
		}
		return code, inner.Message
	}
	if json.Unmarshal(e.Error, &message) == nil || json.Unmarshal(e.Detail, &message) == nil {
		return "", message
	}
	return "", e.Message
}

// unreadable is a response with a good status that is no chat completion: a
// proxy's page, or half an answer.
func (m *Model) unreadable(err error) error {
	return agent.Failed(outerloop.ClassTransient, time.Time{}, "asking %s: the response is no chat completion: %w (%w)", m.cfg.Model, err, agent.ErrUsageUnknown)
}
