package sfnapi

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/local/durable"
)

type startRequest struct {
	StateMachineArn string `json:"stateMachineArn"`
	Name            string `json:"name"`
	Input           string `json:"input"`
}

func (s *Server) startExecution(ctx context.Context, req startRequest) (any, error) {
	machine := lastPart(req.StateMachineArn)
	reg, ok, err := s.reader.Registered(ctx, machine)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, faultf("StateMachineDoesNotExist", "State Machine Does Not Exist: '%s'", req.StateMachineArn)
	}
	if req.Name == "" {
		req.Name = rand.Text()
	}
	if req.Input == "" {
		req.Input = "{}"
	}
	if !json.Valid([]byte(req.Input)) {
		return nil, faultf("InvalidExecutionInput", "Invalid State Machine Execution Input: it is not JSON")
	}
	_, err = s.cfg.Core.Start(ctx, durable.StartRequest{
		Name: req.Name, Machine: reg.Hash, MachineName: machine, Input: json.RawMessage(req.Input),
	})
	if err != nil {
		return nil, err
	}
	d, err := s.reader.Describe(ctx, req.Name)
	if err != nil {
		return nil, err
	}
	return s.changed(ctx, map[string]any{
		"executionArn": durable.ExecutionARN(machine, req.Name), "startDate": epoch(d.Started),
	})
}

type executionRequest struct {
	ExecutionArn string  `json:"executionArn"`
	Error        *string `json:"error"`
	Cause        *string `json:"cause"`
	MaxResults   int     `json:"maxResults"`
	ReverseOrder bool    `json:"reverseOrder"`
	NextToken    string  `json:"nextToken"`
	// IncludeExecutionData is true where it is not given.
	IncludeExecutionData *bool `json:"includeExecutionData"`
}

// execution is the name in an execution's ARN; those of children have more colons.
func (req executionRequest) execution() string {
	parts := strings.SplitN(req.ExecutionArn, ":", 8)
	return parts[len(parts)-1]
}

func (s *Server) stopExecution(ctx context.Context, req executionRequest) (any, error) {
	if err := s.cfg.Core.Stop(ctx, req.execution(), req.Error, req.Cause); err != nil {
		return nil, err
	}
	return s.changed(ctx, map[string]any{"stopDate": epoch(s.cfg.Clock())})
}

func (s *Server) describeExecution(ctx context.Context, req executionRequest) (any, error) {
	d, err := s.reader.Describe(ctx, req.execution())
	if err != nil {
		return nil, err
	}
	answer := summary(d)
	events, err := s.reader.History(ctx, d.Name)
	if err != nil {
		return nil, err
	}
	if len(events) > 0 && events[0].Details != nil {
		answer["input"] = string(events[0].Details.Input)
		answer["inputDetails"] = map[string]bool{"included": true}
	}
	if d.Output != nil {
		answer["output"] = string(d.Output)
		answer["outputDetails"] = map[string]bool{"included": true}
	}
	if d.Error != nil {
		answer["error"] = *d.Error
	}
	if d.Cause != nil {
		answer["cause"] = *d.Cause
	}
	return answer, nil
}

// summary is what the list of executions shows of one.
func summary(d durable.Description) map[string]any {
	answer := map[string]any{
		"executionArn": durable.ExecutionARN(d.MachineName, d.Name), "name": d.Name, "status": d.Status,
		"stateMachineArn": durable.MachineARN(d.MachineName), "startDate": epoch(d.Started), "redriveCount": 0,
	}
	if !d.Ended.IsZero() {
		answer["stopDate"] = epoch(d.Ended)
	}
	return answer
}

type listRequest struct {
	StateMachineArn string     `json:"stateMachineArn"`
	StatusFilter    asl.Status `json:"statusFilter"`
	MaxResults      int        `json:"maxResults"`
	NextToken       string     `json:"nextToken"`
}

func (s *Server) listExecutions(ctx context.Context, req listRequest) (any, error) {
	page, err := newPage(req.MaxResults, req.NextToken)
	if err != nil {
		return nil, err
	}
	machine := lastPart(req.StateMachineArn)
	found := []map[string]any{}
	err = s.reader.Each(ctx, func(d durable.Description) bool {
		if d.MachineName != machine || req.StatusFilter != "" && d.Status != req.StatusFilter || !page.take() {
			return !page.more
		}
		found = append(found, summary(d))
		return true
	})
	if err != nil {
		return nil, err
	}
	return page.answer("executions", found), nil
}

func (s *Server) history(ctx context.Context, req executionRequest) (any, error) {
	page, err := newPage(req.MaxResults, req.NextToken)
	if err != nil {
		return nil, err
	}
	events, err := s.reader.History(ctx, req.execution())
	if err != nil {
		return nil, err
	}
	if req.ReverseOrder {
		slices.Reverse(events)
	}
	shown := []map[string]any{}
	for _, event := range events {
		if !page.take() {
			if page.more {
				break
			}
			continue
		}
		wire, err := onWire(event, req.IncludeExecutionData == nil || *req.IncludeExecutionData)
		if err != nil {
			return nil, err
		}
		shown = append(shown, wire)
	}
	return page.answer("events", shown), nil
}

// onWire is an event as the service sends it: times are numbers there.
func onWire(event asl.HistoryEvent, data bool) (map[string]any, error) {
	text, err := json.Marshal(event)
	if err != nil {
		return nil, fmt.Errorf("encoding history: %w", err)
	}
	var wire map[string]any
	if err := json.Unmarshal(text, &wire); err != nil {
		return nil, fmt.Errorf("encoding history: %w", err)
	}
	wire["timestamp"] = epoch(event.Time)
	if data {
		return wire, nil
	}
	for _, details := range wire {
		if fields, ok := details.(map[string]any); ok {
			for _, private := range []string{"input", "output", "parameters", "cause"} {
				delete(fields, private)
			}
		}
	}
	return wire, nil
}

// page is one page of a list: a token is how much came before.
type page struct {
	skip, left, next int
	more             bool
}

func newPage(size int, token string) (*page, error) {
	if size == 0 {
		size = 100
	}
	skip := 0
	if token != "" {
		var err error
		if skip, err = strconv.Atoi(token); err != nil || skip < 0 {
			return nil, faultf("InvalidToken", "Invalid Token: '%s'", token)
		}
	}
	if size < 0 || size > 1000 {
		return nil, faultf("ValidationException", "maxResults %d is not between 0 and 1000", size)
	}
	return &page{skip: skip, left: size, next: skip + size}, nil
}

// take tells whether the next entry is on the page.
func (p *page) take() bool {
	switch {
	case p.skip > 0:
		p.skip--
		return false
	case p.left == 0:
		p.more = true
		return false
	}
	p.left--
	return true
}

func (p *page) answer(name string, entries any) map[string]any {
	answer := map[string]any{name: entries}
	if p.more {
		answer["nextToken"] = strconv.Itoa(p.next)
	}
	return answer
}

type tokenRequest struct {
	TaskToken string  `json:"taskToken"`
	Output    string  `json:"output"`
	Error     *string `json:"error"`
	Cause     *string `json:"cause"`
}

func (s *Server) taskSuccess(ctx context.Context, req tokenRequest) (any, error) {
	if err := s.cfg.Core.Succeed(ctx, req.TaskToken, json.RawMessage(req.Output)); err != nil {
		return nil, err
	}
	return s.changed(ctx, struct{}{})
}

func (s *Server) taskFailure(ctx context.Context, req tokenRequest) (any, error) {
	if err := s.cfg.Core.Fail(ctx, req.TaskToken, req.Error, req.Cause); err != nil {
		return nil, err
	}
	return s.changed(ctx, struct{}{})
}

func (s *Server) taskHeartbeat(ctx context.Context, req tokenRequest) (any, error) {
	if err := s.cfg.Core.Heartbeat(ctx, req.TaskToken); err != nil {
		return nil, err
	}
	return s.changed(ctx, struct{}{})
}

type machineRequest struct {
	Name            string `json:"name"`
	Definition      string `json:"definition"`
	RoleArn         string `json:"roleArn"`
	Type            string `json:"type"`
	StateMachineArn string `json:"stateMachineArn"`
}

func (s *Server) createMachine(ctx context.Context, req machineRequest) (any, error) {
	if !durable.ValidName(req.Name) {
		return nil, faultf("InvalidName", "Invalid Name: '%s'", req.Name)
	}
	if req.Type != "" && req.Type != string(asl.Standard) {
		return nil, faultf("StateMachineTypeNotSupported", "only STANDARD machines run here")
	}
	hash, err := s.cfg.Core.Publish(ctx, []byte(req.Definition))
	if err != nil {
		return nil, err
	}
	reg, err := s.cfg.Core.Register(ctx, req.Name, hash)
	if err != nil {
		return nil, faultf("StateMachineAlreadyExists", "State Machine Already Exists: '%s'", durable.MachineARN(req.Name))
	}
	return s.changed(ctx, map[string]any{"stateMachineArn": durable.MachineARN(req.Name), "creationDate": epoch(reg.Created)})
}

func (s *Server) describeMachine(ctx context.Context, req machineRequest) (any, error) {
	name := lastPart(req.StateMachineArn)
	reg, ok, err := s.reader.Registered(ctx, name)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, faultf("StateMachineDoesNotExist", "State Machine Does Not Exist: '%s'", req.StateMachineArn)
	}
	definition, err := s.reader.Definition(ctx, s.cfg.Blobs, reg.Hash)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"stateMachineArn": durable.MachineARN(name), "name": name, "status": "ACTIVE", "type": asl.Standard,
		"definition": string(definition), "creationDate": epoch(reg.Created),
		"roleArn": "arn:aws:iam::000000000000:role/outerloop-local",
	}, nil
}

// startOfTest is when tested states are entered; it only shows in the context object.
var startOfTest = time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC)
