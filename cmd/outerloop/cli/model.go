package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/project"
	"github.com/outerloop-dev/outerloop/pkg/quantity"
	"github.com/outerloop-dev/outerloop/pkg/registry"
)

// The environment's words for the flags of the same names, and where the key of
// a model that was chosen stands.
const (
	envModel      = "OUTERLOOP_MODEL"
	envModelPrice = "OUTERLOOP_MODEL_PRICE"
	envModelKey   = "OUTERLOOP_SECRET_MODEL_KEY"
	// modelKey is the name of the secret.
	modelKey = "model-key"
)

// modelFlags choose the model of a command's new runs.
type modelFlags struct {
	model, price string
	workers      []string
}

func (f *modelFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.model, "model", "", "let `MODEL` do the work of all agents and of workers that a model may do: openai:URL#ID, bedrock:ID, or a model of outerloop.yaml (default $"+envModel+")")
	cmd.Flags().StringSliceVar(&f.workers, "model-for", nil, "the `WORKERS` of kind go that the model does (default all that a model may do and that review nobody)")
	cmd.Flags().StringVar(&f.price, "model-price", "", "what the model costs per million tokens, `IN/OUT`, such as 3.00/15.00 or, if it is free, 0/0 (default $"+envModelPrice+", else as outerloop.yaml says)")
}

// filled takes from the environment what was not given.
func (f modelFlags) filled(env func(string) string) modelFlags {
	if f.model == "" {
		f.model = env(envModel)
	}
	if f.price == "" {
		f.price = env(envModelPrice)
	}
	return f
}

// openChosen is openProject with the chosen model, if there is one.
func (a *app) openChosen(flags modelFlags) (opened, error) {
	p, err := a.openProject()
	flags = flags.filled(a.Getenv)
	if err != nil || flags.model == "" {
		return p, err
	}
	document, err := a.choose(p.Registry, flags)
	if err != nil {
		return opened{}, err
	}
	if document["workers"], err = p.modelWorkers(flags.workers); err != nil {
		return opened{}, err
	}
	choice, err := json.Marshal(document)
	if err != nil {
		return opened{}, err
	}
	chosen, problems := project.OpenWith(p.root, map[string]string{project.ModelFile: string(choice)})
	return opened{Project: chosen, root: p.root, problems: problems}, nil
}

// modelWorkers are the workers of kind go that the chosen model does: those that
// were named, else all that it may do but reviewers, so that no model is judged
// by itself where code can judge it (R47).
func (o opened) modelWorkers(named []string) ([]string, error) {
	reviews := map[string]bool{}
	for _, def := range o.Loops {
		for _, n := range def.Nodes {
			if n.Review != nil && n.Review.Worker != nil {
				reviews[n.Review.Worker.Charter.Worker] = true
			}
		}
	}
	able, chosen := []string{}, []string{}
	for name, w := range o.Workers {
		if w == nil || w.Charter.Variant == nil {
			continue
		}
		able = append(able, name)
		if !reviews[name] {
			chosen = append(chosen, name)
		}
	}
	slices.Sort(able)
	for _, name := range named {
		if !slices.Contains(able, name) {
			return nil, usage(fmt.Sprintf("--model-for %s: no model can do the work of a worker of that name", name), "a model may do: "+strings.Join(able, ", "))
		}
	}
	if len(named) > 0 {
		chosen = named
	}
	slices.Sort(chosen)
	return chosen, nil
}

// choose says which model was chosen, as the file that chooses one does.
func (a *app) choose(r *registry.Project, flags modelFlags) (map[string]any, error) {
	kind, rest, given := strings.Cut(flags.model, ":")
	if !given {
		if _, known := r.Model(flags.model); !known {
			return nil, usage(fmt.Sprintf("--model %s: outerloop.yaml declares no such model", flags.model), modelForms...)
		}
		if flags.price != "" {
			return nil, usage("--model-price is for models that outerloop.yaml does not declare; it has a price for "+flags.model, "leave --model-price away")
		}
		return map[string]any{"use": flags.model}, nil
	}
	connection := map[string]any{"kind": kind}
	model := map[string]any{"connection": registry.ChosenName, "id": rest}
	url := ""
	switch {
	case kind == "bedrock":
		connection, model["connection"] = nil, kind
	default:
		var id string
		url, id, _ = strings.Cut(rest, "#")
		if id == "" {
			id = "default"
		}
		connection["url"], model["id"] = url, id
		if a.Getenv(envModelKey) != "" {
			connection["secret"] = modelKey
		}
	}
	if rest == "" || kind != "bedrock" && url == "" {
		return nil, usage(fmt.Sprintf("--model %s names no model", flags.model), modelForms...)
	}
	var err error
	if model["price"], err = a.price(r, flags, place{kind, url, model["id"].(string)}); err != nil {
		return nil, err
	}
	document := map[string]any{"model": model}
	if connection != nil {
		document["connection"] = connection
	}
	return document, nil
}

var modelForms = []string{
	"--model openai:http://127.0.0.1:11434#MODEL-ID   any endpoint with chat completions",
	"--model bedrock:MODEL-ID                         Amazon Bedrock",
	"--model NAME                                     a model of outerloop.yaml",
}

// place is where a model is asked.
type place struct{ kind, url, id string }

// price is what was given, else what the project file says of the same model at
// the same place. A model whose price nobody knows is not asked (R49).
func (a *app) price(r *registry.Project, flags modelFlags, at place) (map[string]any, error) {
	if flags.price == "" {
		if known := declaredPrice(r, at); known != nil {
			return known, nil
		}
		return nil, usage(fmt.Sprintf("nobody says what %s costs, and a model without a price is not asked", flags.model),
			"--model-price 0/0          if it costs nothing, as on your own machine",
			"--model-price 3.00/15.00   per million tokens, sent and received",
			"or declare it under `models` in outerloop.yaml, with its price")
	}
	in, out, both := strings.Cut(strings.TrimSpace(flags.price), "/")
	currency := "USD"
	if r.PerMonth.Currency != "" {
		currency = r.PerMonth.Currency
	}
	price := map[string]any{"as_of": a.Now().Format(time.DateOnly)}
	for key, text := range map[string]string{"input": in, "output": out} {
		money, err := quantity.ParseMoney(text + " " + currency)
		if err != nil || !both || money.Micro < 0 {
			return nil, usage(fmt.Sprintf("--model-price %s is no price", flags.price), "write what a million tokens cost, sent and received: 3.00/15.00, or 0/0")
		}
		price[key] = money.String()
	}
	return price, nil
}

// declaredPrice is what the project file says of a model; nil: nothing.
func declaredPrice(r *registry.Project, at place) map[string]any {
	for _, m := range r.Models {
		declared := r.Asked(m.Name)
		if (place{declared.Kind, declared.URL, declared.ID}) != at {
			continue
		}
		price := map[string]any{"as_of": m.Price.AsOf}
		for key, amount := range map[string]quantity.Money{"input": m.Price.Input, "output": m.Price.Output, "cache_read": m.Price.CacheRead, "cache_write": m.Price.CacheWrite} {
			if amount.Currency != "" {
				price[key] = amount.String()
			}
		}
		return price
	}
	return nil
}
