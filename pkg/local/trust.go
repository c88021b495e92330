package local

import (
	"context"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

// SetStage raises or lowers the stage of an action by a person's word.
func (s *Session) SetStage(ctx context.Context, req coordinator.StageRequest) (coordinator.AutonomyView, error) {
	return do[coordinator.AutonomyView](ctx, s, OpStage, req)
}

// Did compares a proposal with what people did.
func (s *Session) Did(ctx context.Context, req coordinator.DidRequest) (coordinator.ProposalView, error) {
	return do[coordinator.ProposalView](ctx, s, OpDid, req)
}
