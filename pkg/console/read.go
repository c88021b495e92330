package console

import (
	"context"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

func (a *api) status(ctx context.Context, _ *request) (any, error) {
	beat, err := a.Readers.LastBeat(ctx)
	return StatusView{Project: a.Project, Version: a.Version, Watch: beat}, err
}

// listed is a list that is short by nature.
func listed[T any](items []T, err error) (any, error) {
	if items == nil {
		items = []T{}
	}
	return List[T]{Items: items}, err
}

func (a *api) loops(ctx context.Context, _ *request) (any, error) {
	return listed(a.Readers.Loops(ctx))
}

func (a *api) budgets(ctx context.Context, _ *request) (any, error) {
	return listed(a.Readers.Budgets(ctx))
}

func (a *api) breakers(ctx context.Context, _ *request) (any, error) {
	return listed(a.Readers.Breakers(ctx))
}

func (a *api) autonomy(ctx context.Context, r *request) (any, error) {
	return listed(a.Readers.Trusted(ctx, r.query.Get("worker")))
}

func (a *api) proposals(ctx context.Context, r *request) (any, error) {
	list, err := a.Readers.Proposals(ctx, r.query.Get("worker"))
	if err != nil {
		return nil, err
	}
	return section(list, func(p coordinator.ProposalView) string { return p.Loop + " " + p.Entry }, r.query.Get("after"))
}

func (a *api) fact(ctx context.Context, r *request) (any, error) {
	return a.Readers.Fact(ctx, r.query.Get("name"))
}

func (a *api) findRuns(ctx context.Context, r *request) (any, error) {
	return listed(a.Readers.Find(ctx, r.query.Get("run")))
}

func (a *api) runs(ctx context.Context, r *request) (any, error) {
	q := coordinator.RunsQuery{Loop: r.query.Get("loop"), Open: r.query.Get("open") == "true", After: r.query.Get("after")}
	return paged(ctx, r.limit(), func(ctx context.Context, limit int) (coordinator.Page[coordinator.RunView], error) {
		q.Limit = limit
		return a.Readers.RunsPage(ctx, q)
	})
}

func (a *api) approvals(ctx context.Context, r *request) (any, error) {
	q := coordinator.ApprovalsQuery{Run: r.query.Get("run"), After: r.query.Get("after")}
	return paged(ctx, r.limit(), func(ctx context.Context, limit int) (coordinator.Page[coordinator.ApprovalView], error) {
		q.Limit = limit
		return a.Readers.ApprovalsPage(ctx, q)
	})
}

func (a *api) exceptions(ctx context.Context, r *request) (any, error) {
	q := coordinator.ExceptionsQuery{Run: r.query.Get("run"), After: r.query.Get("after")}
	return paged(ctx, r.limit(), func(ctx context.Context, limit int) (coordinator.Page[coordinator.ExceptionView], error) {
		q.Limit = limit
		return a.Readers.ExceptionsPage(ctx, q)
	})
}

func (a *api) actions(ctx context.Context, r *request) (any, error) {
	q := coordinator.ActionsQuery{Loop: r.query.Get("loop"), Key: r.query.Get("key"), After: r.query.Get("after")}
	return paged(ctx, r.limit(), func(ctx context.Context, limit int) (coordinator.Page[coordinator.ActionView], error) {
		q.Limit = limit
		return a.Readers.ActionsPage(ctx, q)
	})
}

func (a *api) approval(ctx context.Context, r *request) (any, error) {
	return a.Readers.Approval(ctx, r.path["approval"])
}

func (a *api) exception(ctx context.Context, r *request) (any, error) {
	return a.Readers.Exception(ctx, r.path["exception"])
}

func (a *api) run(ctx context.Context, r *request) (any, error) {
	if r.query.Get("steps") == "false" {
		view, err := a.Readers.Run(ctx, r.path["run"])
		return RunDocument{ShowView: coordinator.ShowView{RunView: view, Steps: []coordinator.StepView{}}}, err
	}
	view, err := a.Readers.Show(ctx, r.path["run"])
	if err != nil {
		return nil, err
	}
	page, err := section(view.Steps, stepName, "")
	view.Steps = view.Steps[:len(page.Items)]
	return RunDocument{ShowView: view, Next: page.Next}, err
}

func stepName(s coordinator.StepView) string { return s.Path }

func (a *api) steps(ctx context.Context, r *request) (any, error) {
	view, err := a.Readers.Show(ctx, r.path["run"])
	if err != nil {
		return nil, err
	}
	return section(view.Steps, stepName, r.query.Get("after"))
}

func (a *api) log(ctx context.Context, r *request) (any, error) {
	list, err := a.Readers.Log(ctx, r.path["run"])
	if err != nil {
		return nil, err
	}
	return section(list, func(e coordinator.LogView) string { return e.ID }, r.query.Get("after"))
}

func (a *api) outputs(ctx context.Context, r *request) (any, error) {
	list, err := a.Readers.Outputs(ctx, r.path["run"], r.query.Get("step"))
	if err != nil {
		return nil, err
	}
	return section(list, func(o coordinator.OutputView) string { return o.Path }, r.query.Get("after"))
}
