package sfnapi

import (
	"context"
	"errors"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/local/durable"
)

// validate checks a definition as CreateStateMachine would.
func (s *Server) validate(_ context.Context, req machineRequest) (any, error) {
	diagnostics := []map[string]string{}
	add := func(code, message, location string) {
		diagnostics = append(diagnostics, map[string]string{
			"severity": "ERROR", "code": code, "message": message, "location": location,
		})
	}
	_, err := durable.Load([]byte(req.Definition))
	var definition *asl.DefinitionError
	switch {
	case errors.As(err, &definition):
		for _, d := range definition.Diagnostics {
			add(d.Code, d.Message, d.Path)
		}
	case err != nil:
		add("UNSUPPORTED", err.Error(), "/")
	}
	result := "OK"
	if len(diagnostics) > 0 {
		result = "FAIL"
	}
	return map[string]any{"result": result, "diagnostics": diagnostics, "truncated": false}, nil
}
