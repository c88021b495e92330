package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// requestDelete is CloudFormation's word for the removal of a resource.
const requestDelete = "Delete"

// request is what CloudFormation sends.
type request struct {
	RequestType        string
	ResponseURL        string
	StackId            string //nolint:revive // CloudFormation's word
	RequestId          string //nolint:revive // CloudFormation's word
	LogicalResourceId  string //nolint:revive // CloudFormation's word
	PhysicalResourceId string //nolint:revive // CloudFormation's word
	ResourceProperties properties
}

// response is what CloudFormation wants to be told at the request's address.
type response struct {
	Status             string
	Reason             string            `json:",omitempty"`
	StackId            string            //nolint:revive // CloudFormation's word
	RequestId          string            //nolint:revive // CloudFormation's word
	LogicalResourceId  string            //nolint:revive // CloudFormation's word
	PhysicalResourceId string            //nolint:revive // CloudFormation's word
	Data               map[string]string `json:",omitempty"`
}

// reasonLimit is the longest reason that CloudFormation shows; a response may
// have 4 KB in all.
const reasonLimit = 1500

// serve does what a resource asks and tells CloudFormation: at the request's
// address where it has one, else by the answer (as a provider framework wants).
func (f *Function) serve(ctx context.Context, event json.RawMessage) (any, error) {
	var req request
	if err := json.Unmarshal(event, &req); err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	out, err := f.do(ctx, req.RequestType, req.ResourceProperties)
	log := f.cfg.Log.With("request", req.RequestType, "publish", req.ResourceProperties.Publish, "loop", req.ResourceProperties.Loop)
	if err != nil {
		log.ErrorContext(ctx, "not published", "error", err)
	} else {
		log.InfoContext(ctx, "published", "id", out.PhysicalResourceId)
	}
	if req.ResponseURL == "" {
		return out, err
	}
	told := response{
		Status: "SUCCESS", StackId: req.StackId, RequestId: req.RequestId, LogicalResourceId: req.LogicalResourceId,
		PhysicalResourceId: out.PhysicalResourceId, Data: out.Data,
	}
	if req.RequestType == requestDelete || told.PhysicalResourceId == "" {
		told.PhysicalResourceId = req.PhysicalResourceId
	}
	if told.PhysicalResourceId == "" {
		told.PhysicalResourceId = req.LogicalResourceId
	}
	if err != nil {
		told.Status, told.Reason = "FAILED", err.Error()
		told.Reason = told.Reason[:min(len(told.Reason), reasonLimit)]
	}
	body, err := json.Marshal(told)
	if err != nil {
		return nil, err
	}
	return told, f.cfg.Respond(ctx, req.ResponseURL, body)
}

var web = &http.Client{Timeout: 30 * time.Second}

// respond puts an answer to the address, which is signed without a content type.
func respond(ctx context.Context, url string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("answering CloudFormation: %w", err)
	}
	resp, err := web.Do(req)
	if err != nil {
		return fmt.Errorf("answering CloudFormation: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body) // so that the connection can be used again
	if resp.StatusCode >= 300 {
		return fmt.Errorf("answering CloudFormation: it says %s", resp.Status)
	}
	return nil
}
