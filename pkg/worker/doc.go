// Package worker is what the author of a worker imports: a typed function
// becomes a Worker, which Handle runs behind the coordinator's gate.
//
// A worker is a function of a task and gives a result or an error of a class:
//
//	var Worker = worker.New("draft", 1, func(ctx context.Context, t worker.Task[Deal]) (worker.Result[Draft], error) { … })
//
// Everything a worker may depend on comes with the task: its input, files and
// connections. A business action goes through Task.Do, which makes it happen
// at most once as far as the action's provider allows (see Task.Do).
//
// The package imports the gate's wire types and the standard library only, so
// that workers start fast; validation of input and output is the gate's job.
package worker
