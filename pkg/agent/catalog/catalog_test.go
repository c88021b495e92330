package catalog_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/agent/catalog"
	"github.com/outerloop-dev/outerloop/pkg/agent/wiretest"
	"github.com/outerloop-dev/outerloop/pkg/registry"
)

const file = `
project: acme
zone: Europe/Berlin
people: {lead: {email: lead@acme.example}}
groups: {ops: {members: [lead], alert: [email]}}
connections:
  ollama: {kind: openai, url: "URL", secret: llm-key, may: [ask]}
models:
  default: {connection: ollama, id: small, price: {input: 0.00 USD, output: 0.00 USD, as_of: "2026-11-01"}}
  cached: {connection: bedrock, id: big, price: {input: 3.00 USD, output: 15.00 USD, cache_read: 0.30 USD, cache_write: 3.75 USD, as_of: "2026-11-01"}}
  mixed: {connection: bedrock, id: big, price: {input: 3.00 USD, output: 15.00 EUR, as_of: "2026-11-01"}}
`

func project(t *testing.T, url string) *registry.Project {
	t.Helper()
	p, problems := registry.Read("outerloop.yaml", []byte(strings.Replace(file, "URL", url, 1)))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestOpenAsksWithTheConnectionsSecret(t *testing.T) {
	t.Parallel()
	s := wiretest.Start(t, wiretest.Always(wiretest.Reply{Answer: agent.Answer{Text: "{}", Stop: agent.StopEnd}}))
	with := catalog.With{Openers: map[string]catalog.Opener{"openai": catalog.OpenAI}, Secret: func(name string) (string, error) { return "value of " + name, nil }}
	offer, err := catalog.Open(project(t, s.URL), "default", with)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := offer.Model.Ask(t.Context(), wiretest.Question()); err != nil {
		t.Fatal(err)
	}
	seen := s.Requests()[0]
	if seen.Model != "small" || seen.Header.Get("Authorization") != "Bearer value of llm-key" {
		t.Errorf("asked %s with %q", seen.Model, seen.Header.Get("Authorization"))
	}
	if offer.Price.Known() != nil || offer.Price.Input != 0 {
		t.Errorf("a free model costs %+v", offer.Price)
	}
}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	p := project(t, "http://127.0.0.1:1")
	none := func(string) (string, error) { return "", errors.New("not in the store") }
	openers := map[string]catalog.Opener{"openai": catalog.OpenAI}
	for name, c := range map[string]struct {
		model string
		with  catalog.With
		says  string
	}{
		"no such model": {"large", catalog.With{}, `no model "large"`},
		"other kind":    {"cached", catalog.With{Openers: openers}, `kind "bedrock"; it can over: openai`},
		"no secrets":    {"default", catalog.With{Openers: openers}, "needs the secret llm-key"},
		"secret unread": {"default", catalog.With{Openers: openers, Secret: none}, "not in the store"},
		"currencies":    {"mixed", catalog.With{Openers: openers}, "in one currency"},
	} {
		if _, err := catalog.Open(p, c.model, c.with); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPriceOfKeepsWhatIsDeclared(t *testing.T) {
	t.Parallel()
	m, _ := project(t, "http://127.0.0.1:1").Model("cached")
	price, err := catalog.PriceOf(m)
	if err != nil || price.Input != 3_000_000 || *price.CacheRead != 300_000 || *price.CacheWrite != 3_750_000 || price.AsOf != "2026-11-01" {
		t.Errorf("%+v, %v", price, err)
	}
	if _, err := catalog.PriceOf(registry.Model{Name: "x"}); !errors.Is(err, agent.ErrUnpriced) {
		t.Errorf("no price: %v", err)
	}
}
