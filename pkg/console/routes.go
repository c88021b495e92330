package console

import (
	"net/http"
	"reflect"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/coordinator/remote"
)

// Param is a parameter of a route's query.
type Param struct {
	Name, Says string
	// Kind is string, integer or boolean.
	Kind     string
	Required bool
}

// Route is one operation of the API, as it is served and documented.
type Route struct {
	Method, Path string
	// Name is the operation's id, Says what it does in a sentence.
	Name, Says string
	Query      []Param
	// Body and Answer are the types of what is asked and answered; Body nil: none.
	Body, Answer reflect.Type
	// Errors are the codes that this operation in particular can answer with.
	Errors []string

	serve serve
}

var (
	afterParam = Param{Name: "after", Kind: "string", Says: "The next of the page before; absent: the first page."}
	limitParam = Param{Name: "limit", Kind: "integer", Says: "How many items a page has at most, 1 to 1000. A page may be shorter."}
	runParam   = Param{Name: "run", Kind: "string", Says: "Only of this run."}
	loopParam  = Param{Name: "loop", Kind: "string", Says: "Only of this loop."}
)

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

// Routes are all operations, in the order of the document.
func Routes() []Route { return append(reads(), writes()...) }

func reads() []Route {
	return append([]Route{
		{
			Method: http.MethodGet, Path: "/v1/status", Name: "status", Says: "What answers here, and when the watch last went round.",
			Answer: typeOf[StatusView](), serve: (*api).status,
		}, {
			Method: http.MethodGet, Path: "/v1/loops", Name: "loops", Says: "The loops that can be started or ever had a run, with their schedules.",
			Answer: typeOf[List[coordinator.LoopView]](), serve: (*api).loops,
		}, {
			Method: http.MethodGet, Path: "/v1/budgets", Name: "budgets", Says: "What the budgets of the periods under way have left.",
			Answer: typeOf[List[coordinator.BudgetView]](), serve: (*api).budgets,
		}, {
			Method: http.MethodGet, Path: "/v1/breakers", Name: "breakers", Says: "The circuit breakers of the workers that ever failed.",
			Answer: typeOf[List[coordinator.BreakerView]](), serve: (*api).breakers,
		}, {
			Method: http.MethodGet, Path: "/v1/autonomy", Name: "autonomy", Says: "How far workers are trusted with their actions, and what was measured.",
			Query:  []Param{{Name: "worker", Kind: "string", Says: "Only of this worker."}},
			Answer: typeOf[List[coordinator.AutonomyView]](), serve: (*api).autonomy,
		}, {
			Method: http.MethodGet, Path: "/v1/proposals", Name: "proposals", Says: "What a worker proposed and did not do, oldest first.",
			Query:  []Param{{Name: "worker", Kind: "string", Required: true, Says: "The worker."}, afterParam},
			Answer: typeOf[List[coordinator.ProposalView]](), serve: (*api).proposals,
		}, {
			Method: http.MethodGet, Path: "/v1/facts", Name: "fact", Says: "A fact as it was last written; its value is null where it never was.",
			Query:  []Param{{Name: "name", Kind: "string", Required: true, Says: "The fact's name, such as dashboard/sales."}},
			Answer: typeOf[coordinator.FactView](), serve: (*api).fact,
		}, {
			Method: http.MethodGet, Path: "/v1/actions", Name: "actions", Says: "The action log, in the order of its entries.",
			Query:  []Param{loopParam, {Name: "key", Kind: "string", Says: "What the entries begin with."}, limitParam, afterParam},
			Answer: typeOf[List[coordinator.ActionView]](), serve: (*api).actions,
		}, {
			Method: http.MethodGet, Path: "/v1/approvals", Name: "approvals", Says: "What waits for an approval, oldest first.",
			Query: []Param{runParam, limitParam, afterParam}, Answer: typeOf[List[coordinator.ApprovalView]](), serve: (*api).approvals,
		}, {
			Method: http.MethodGet, Path: "/v1/approvals/{approval}", Name: "approval", Says: "One request for approval, decided or not.",
			Answer: typeOf[coordinator.ApprovalView](), Errors: []string{"no_approval"}, serve: (*api).approval,
		}, {
			Method: http.MethodGet, Path: "/v1/exceptions", Name: "exceptions", Says: "What needs a person's decision, oldest first.",
			Query: []Param{runParam, limitParam, afterParam}, Answer: typeOf[List[coordinator.ExceptionView]](), serve: (*api).exceptions,
		}, {
			Method: http.MethodGet, Path: "/v1/exceptions/{exception}", Name: "exception", Says: "One exception, resolved or not.",
			Answer: typeOf[coordinator.ExceptionView](), Errors: []string{"no_exception"}, serve: (*api).exception,
		},
	}, runReads()...)
}

func runReads() []Route {
	return []Route{
		{
			Method: http.MethodGet, Path: "/v1/runs", Name: "runs", Says: "Runs, newest first.",
			Query:  []Param{loopParam, {Name: "open", Kind: "boolean", Says: "Only runs that are not closed."}, limitParam, afterParam},
			Answer: typeOf[List[coordinator.RunView]](), serve: (*api).runs,
		}, {
			Method: http.MethodGet, Path: "/v1/find", Name: "find", Says: "The ids of the runs that begin so, among the newest; the newest run for nothing.",
			Query:  []Param{{Name: "run", Kind: "string", Says: "The beginning of a run's id."}},
			Answer: typeOf[List[string]](), serve: (*api).findRuns,
		}, {
			Method: http.MethodGet, Path: "/v1/runs/{run}", Name: "run", Says: "A run with its steps, or the first page of them.",
			Query:  []Param{{Name: "steps", Kind: "boolean", Says: "false leaves the steps out."}},
			Answer: typeOf[RunDocument](), Errors: []string{"no_run"}, serve: (*api).run,
		}, {
			Method: http.MethodGet, Path: "/v1/runs/{run}/steps", Name: "steps", Says: "The steps of a run, in the order of their paths.",
			Query: []Param{afterParam}, Answer: typeOf[List[coordinator.StepView]](), Errors: []string{"no_run"}, serve: (*api).steps,
		}, {
			Method: http.MethodGet, Path: "/v1/runs/{run}/log", Name: "log", Says: "Every decision about a run, in the order of time.",
			Query: []Param{afterParam}, Answer: typeOf[List[coordinator.LogView]](), Errors: []string{"no_run"}, serve: (*api).log,
		}, {
			Method: http.MethodGet, Path: "/v1/runs/{run}/outputs", Name: "outputs", Says: "What is recorded of a step, of each item where the path names no item's key.",
			Query:  []Param{{Name: "step", Kind: "string", Required: true, Says: "The step's path."}, afterParam},
			Answer: typeOf[List[coordinator.OutputView]](), Errors: []string{"no_run"}, serve: (*api).outputs,
		},
	}
}

// write is a route that forwards one use.
func write[Body, Answer any](path, use, says string, errors ...string) Route {
	return Route{
		Method: http.MethodPost, Path: path, Name: use, Says: says, Body: typeOf[Body](), Answer: typeOf[Answer](),
		Errors: append(errors, "unknown", "busy"), serve: forwarding(use),
	}
}

func writes() []Route {
	return []Route{
		write[StartBody, remote.Started]("/v1/runs", remote.UseStart,
			"Starts a run of a loop, or says which one its subject has.", "no_loop", "input", "other_input", "overlap", "budget"),
		write[PersonBody, coordinator.RunView]("/v1/runs/{run}/cancel", remote.UseCancel,
			"Cancels an open run; nothing new starts.", "no_run", "not_allowed", "run_closed"),
		write[PersonBody, coordinator.RunView]("/v1/runs/{run}/redrive", remote.UseRedrive,
			"Goes on with a blocked or failed run after its last settled step.", "no_run", "not_allowed", "not_possible"),
		write[PersonBody, coordinator.RunView]("/v1/runs/{run}/rollback", remote.UseRollback,
			"Undoes what a run has done, as far as it can be undone, in a run of its own.", "no_run", "not_allowed", "not_possible"),
		write[DecisionBody, coordinator.ApprovalView]("/v1/approvals/{approval}/decision", remote.UseDecide,
			"Approves or rejects a request. The first decision is final.", "no_approval", "decided", "not_allowed", "run_closed", "input"),
		write[ResolutionBody, coordinator.ExceptionView]("/v1/exceptions/{exception}/resolution", remote.UseResolve,
			"Answers an exception in one of its ways.", "no_exception", "decided", "not_allowed", "run_closed", "not_possible", "input"),
		write[struct{}, remote.Paused]("/v1/loops/{loop}/pause", remote.UsePause, "Lets the loop's triggers start nothing.", "no_loop"),
		write[struct{}, remote.Paused]("/v1/loops/{loop}/resume", remote.UseResume, "Lets the loop's triggers start runs again.", "no_loop"),
		write[remote.Stage, coordinator.AutonomyView]("/v1/stage", remote.UseStage,
			"Raises or lowers by one how far a worker's action is trusted.", "no_loop", "not_allowed", "not_possible", "input"),
		write[remote.Did, coordinator.ProposalView]("/v1/did", remote.UseDid,
			"Compares a proposal with what people did, once.", "not_possible", "decided", "not_allowed", "input"),
		write[remote.Publish, coordinator.Published]("/v1/events", remote.UsePublish, "Hands an event from outside in.", "input"),
		write[remote.Blob, remote.Kept]("/v1/blobs", remote.UseBlob, "Keeps content of an input, at most 4 MB, and answers its reference.", "too_large"),
		write[remote.Upload, remote.Uploading]("/v1/uploads", remote.UseUpload, "Says where larger content of an input is to be put.", "too_large"),
		write[remote.Prune, coordinator.Removed]("/v1/prune", remote.UsePrune, "Removes closed runs that ended long ago, a bounded number of items at a time."),
	}
}
