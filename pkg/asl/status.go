package asl

// Status is the status of an execution, in AWS's words.
type Status string

// The statuses of an execution.
const (
	Running   Status = "RUNNING"
	Succeeded Status = "SUCCEEDED"
	Failed    Status = "FAILED"
	TimedOut  Status = "TIMED_OUT"
	Aborted   Status = "ABORTED"
)

// Ended reports whether the status is final.
func (s Status) Ended() bool { return s != Running && s != "" }
