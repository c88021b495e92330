package asl

import (
	"encoding/json"
	"time"
)

// HistoryEvent is one event of an execution's history, as
// GetExecutionHistory reports it. Its JSON form is that of
// `aws stepfunctions get-execution-history`.
type HistoryEvent struct {
	// ID counts from 1 without gaps.
	ID int64
	// PreviousID is the event that led to this one on its branch; 0 for the
	// first two.
	PreviousID int64
	Time       time.Time
	// Type is the event's type in AWS's words, as in TaskStateEntered.
	Type HistoryType
	// Details is nil where the type has none.
	Details *HistoryDetails
}

// HistoryType is the type of a history event, in AWS's words.
type HistoryType string

// HistoryDetails holds the details of a history event; which fields are set
// depends on the type. Input, Output and Parameters are JSON documents (and
// JSON strings in the JSON form).
type HistoryDetails struct {
	Name       string
	Input      json.RawMessage
	Output     json.RawMessage
	Parameters json.RawMessage
	RoleARN    string
	Error      *string
	Cause      *string

	Resource     string
	ResourceType string
	Region       string
	Timeout      int64
	Heartbeat    int64
	WorkerName   string

	// Length is the number of items of a started Map.
	Length *int
	// Index is the iteration of a Map; Name is then the Map's name.
	Index *int
	// MapRun is the ARN of a started Map Run.
	MapRun string
	// Assigned holds the variables a state assigned, name to JSON.
	Assigned []Variable
}

// Variable is a workflow variable and its value.
type Variable struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}
