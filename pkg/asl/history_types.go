package asl

// The history event types of whole executions and of what is not one state.
const (
	historyExecutionStarted   HistoryType = "ExecutionStarted"
	historyExecutionSucceeded HistoryType = "ExecutionSucceeded"
	historyExecutionFailed    HistoryType = "ExecutionFailed"
	historyExecutionTimedOut  HistoryType = "ExecutionTimedOut"
	historyExecutionAborted   HistoryType = "ExecutionAborted"

	historyTaskSubmitted HistoryType = "TaskSubmitted"

	historyIterationStarted   HistoryType = "MapIterationStarted"
	historyIterationSucceeded HistoryType = "MapIterationSucceeded"
	historyIterationFailed    HistoryType = "MapIterationFailed"
	historyIterationAborted   HistoryType = "MapIterationAborted"

	historyMapRunStarted   HistoryType = "MapRunStarted"
	historyMapRunSucceeded HistoryType = "MapRunSucceeded"
	historyMapRunFailed    HistoryType = "MapRunFailed"
	historyMapRunAborted   HistoryType = "MapRunAborted"
)

// final reports whether the type ends an execution.
func (h HistoryType) final() bool {
	switch h {
	case historyExecutionSucceeded, historyExecutionFailed, historyExecutionTimedOut, historyExecutionAborted:
		return true
	}
	return false
}

func enteredType(k stateType) HistoryType { return HistoryType(string(k) + "StateEntered") }
func exitedType(k stateType) HistoryType  { return HistoryType(string(k) + "StateExited") }
func startedType(k stateType) HistoryType { return HistoryType(string(k) + "StateStarted") }
func failedType(k stateType) HistoryType  { return HistoryType(string(k) + "StateFailed") }
func abortedType(k stateType) HistoryType { return HistoryType(string(k) + "StateAborted") }

func succeededType(k stateType) HistoryType { return HistoryType(string(k) + "StateSucceeded") }

// taskType is the type of an event of a task, by how its kind is recorded.
func taskType(k ResourceKind, outcome string) HistoryType {
	switch k {
	case LambdaFunction:
		return HistoryType("LambdaFunction" + outcome)
	case Activity:
		return HistoryType("Activity" + outcome)
	}
	return HistoryType("Task" + outcome)
}
