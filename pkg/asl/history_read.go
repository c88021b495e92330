package asl

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl/internal/rawjson"
)

// historyRecord is a history event as it is stored and printed.
type historyRecord struct {
	Time       time.Time   `json:"timestamp"`
	Type       HistoryType `json:"type"`
	ID         int64       `json:"id"`
	PreviousID int64       `json:"previousEventId"`
}

// detailsRecord holds the details of any type.
type detailsRecord struct {
	Name         string          `json:"name"`
	Input        *string         `json:"input"`
	Output       *string         `json:"output"`
	Parameters   *string         `json:"parameters"`
	RoleARN      string          `json:"roleArn"`
	Error        *string         `json:"error"`
	Cause        *string         `json:"cause"`
	Resource     string          `json:"resource"`
	ResourceType string          `json:"resourceType"`
	Region       string          `json:"region"`
	Timeout      int64           `json:"timeoutInSeconds"`
	Heartbeat    int64           `json:"heartbeatInSeconds"`
	WorkerName   string          `json:"workerName"`
	Length       *int            `json:"length"`
	Index        *int            `json:"index"`
	MapRun       string          `json:"mapRunArn"`
	Assigned     json.RawMessage `json:"assignedVariables"`
}

// UnmarshalJSON reads what MarshalJSON writes.
func (h *HistoryEvent) UnmarshalJSON(data []byte) error {
	text, err := rawjson.NormalizeWithin(data, ownDepth)
	if err != nil {
		return fmt.Errorf("reading history event: %w", err)
	}
	var r historyRecord
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("reading history event: %w", err)
	}
	*h = HistoryEvent{ID: r.ID, PreviousID: r.PreviousID, Time: r.Time.UTC(), Type: r.Type}
	if r.Type == "" {
		return fmt.Errorf("reading history event: no type")
	}
	details, ok := rawjson.Get(text, r.Type.detailsKey())
	if !ok {
		return nil
	}
	var d detailsRecord
	if err := json.Unmarshal(details, &d); err != nil {
		return fmt.Errorf("reading history event: %w", err)
	}
	h.Details = d.details()
	return nil
}

func (d *detailsRecord) details() *HistoryDetails {
	out := &HistoryDetails{
		Name: d.Name, Input: document(d.Input), Output: document(d.Output), Parameters: document(d.Parameters),
		RoleARN: d.RoleARN, Error: d.Error, Cause: d.Cause,
		Resource: d.Resource, ResourceType: d.ResourceType, Region: d.Region,
		Timeout: d.Timeout, Heartbeat: d.Heartbeat, WorkerName: d.WorkerName,
		Length: d.Length, Index: d.Index, MapRun: d.MapRun,
	}
	for k, v := range rawjson.Members(d.Assigned) {
		out.Assigned = append(out.Assigned, Variable{rawjson.Text(k), json.RawMessage(rawjson.Text(v))})
	}
	return out
}

func document(text *string) json.RawMessage {
	if text == nil {
		return nil
	}
	return json.RawMessage(*text)
}
