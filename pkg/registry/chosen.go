package registry

import (
	"fmt"
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/charter"
	"github.com/outerloop-dev/outerloop/pkg/problem"
	"github.com/outerloop-dev/outerloop/pkg/source"
)

// ChosenName is what a chosen model and its connection are called where the
// project file does not declare them.
const ChosenName = "chosen-model"

// choice is a file that chooses one model for all agents.
type choice struct {
	use        string
	connection *Connection
	model      *Model
	workers    []string
	source     *source.Node
}

func choiceForm() *source.Form[choice] {
	return source.NewForm("a choice of model", "One model for all agents, in place of those that their charters name.",
		source.Key("use", hyphened, func(c *choice) *string { return &c.use }).Says("a model of the project file"),
		source.Key("connection", source.Pointer(source.Codec[Connection](connectionForm())), func(c *choice) **Connection { return &c.connection }).Says("where the model is asked, if the project file does not declare it"),
		source.Key("model", source.Pointer(source.Codec[Model](modelForm())), func(c *choice) **Model { return &c.model }).Says("the model, if the project file does not declare it"),
		source.Key("workers", source.List(hyphened), func(c *choice) *[]string { return &c.workers }).Says("the workers of kind go that it does; all that it may do if not given"),
	).Then(func(_ *source.Reader, n *source.Node, c *choice) { c.source = n })
}

// Choose reads a file that chooses the model of all agents, and declares it:
// with `use` one of the project's own, else with `model` and, unless that is
// asked over a connection that exists, `connection`. Chosen is set where it is right.
func (p *Project) Choose(path string, raw []byte) problem.Problems {
	root, ps := source.Read(path, raw)
	if root == nil {
		return ps
	}
	r := &source.Reader{}
	c, ok := choiceForm().Read(r, root)
	if !ok || r.Problems().Errors() > 0 {
		return r.Problems()
	}
	switch _, known := p.Model(c.use); {
	case (c.use == "") == (c.model == nil):
		return append(r.Problems(), c.source.Problem("E111", "Write either `use`, a model of the project file, or `model`."))
	case c.use != "" && !known:
		return append(r.Problems(), c.source.Find("use").Problem("E229", fmt.Sprintf("The project file declares no model %q.", c.use)))
	}
	if c.source.Get("workers") != nil {
		p.ChosenFor = append([]string{}, c.workers...)
	}
	if p.Chosen = c.use; p.Chosen != "" {
		return r.Problems()
	}
	if c.connection != nil {
		c.connection.Name = ChosenName
		p.Connections = append(p.Connections, *c.connection)
	}
	c.model.Name = ChosenName
	p.Models = append(p.Models, *c.model)
	p.Chosen = ChosenName
	return r.Problems()
}

// Asks tells whether the chosen model does the work of a worker: of every
// agent, and of those of kind go that the choice names.
func (p *Project) Asks(c *charter.Charter) bool {
	switch {
	case p.Chosen == "":
		return false
	case c.Kind == charter.KindAgent || p.ChosenFor == nil:
		return true
	}
	return slices.Contains(p.ChosenFor, c.Worker)
}
