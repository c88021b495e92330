package openai

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/gate"
)

type wireMessage struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content,omitempty"`
	ToolCalls  []wireCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type wireCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name        string          `json:"name"`
	Arguments   string          `json:"arguments,omitempty"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type wireTool struct {
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

type wireFormat struct {
	Type   string      `json:"type"`
	Schema *wireSchema `json:"json_schema,omitempty"`
}

type wireSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

func (m *Model) encode(req agent.Request) ([]byte, error) {
	body := map[string]any{"model": m.cfg.Model, "stream": false, m.cfg.LimitField: req.MaxTokens}
	messages := []wireMessage{{Role: "system", Content: &req.System}}
	for _, message := range req.Messages {
		messages = append(messages, encodeMessage(message)...)
	}
	body["messages"] = messages
	if req.Temperature != nil {
		body["temperature"] = *req.Temperature
	}
	if len(req.Tools) > 0 {
		tools := make([]wireTool, 0, len(req.Tools))
		for _, t := range req.Tools {
			tools = append(tools, wireTool{"function", wireFunction{Name: t.Name, Description: t.Says, Parameters: t.Input}})
		}
		body["tools"] = tools
	}
	if req.Output != nil && m.cfg.Format != FormatText {
		format := wireFormat{Type: string(m.cfg.Format)}
		if m.cfg.Format == FormatSchema {
			format.Schema = &wireSchema{req.Output.Name, req.Output.Schema, strictable(req.Output.Schema)}
		}
		body["response_format"] = format
	}
	return json.Marshal(body)
}

// encodeMessage writes a message; each tool result is a message of its own here.
func encodeMessage(message agent.Message) []wireMessage {
	if message.Role == agent.RoleModel {
		out := wireMessage{Role: "assistant"}
		if message.Text != "" {
			out.Content = &message.Text
		}
		for _, c := range message.Calls {
			out.ToolCalls = append(out.ToolCalls, wireCall{c.ID, "function", wireFunction{Name: c.Name, Arguments: c.Input}})
		}
		return []wireMessage{out}
	}
	var out []wireMessage
	for _, r := range message.Results {
		out = append(out, wireMessage{Role: "tool", ToolCallID: r.ID, Content: &r.Text})
	}
	if message.Text != "" {
		out = append(out, wireMessage{Role: "user", Content: &message.Text})
	}
	return out
}

type wireResponse struct {
	Model   string `json:"model"`
	Choices []struct {
		FinishReason string `json:"finish_reason"`
		Message      struct {
			Content   content    `json:"content"`
			Refusal   string     `json:"refusal"`
			ToolCalls []wireCall `json:"tool_calls"`
		} `json:"message"`
	} `json:"choices"`
	Usage struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Details    struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

// content is text, null, or a list of parts.
type content string

// UnmarshalJSON joins the text parts of a list.
func (c *content) UnmarshalJSON(raw []byte) error {
	var text *string
	if json.Unmarshal(raw, &text) == nil {
		if text != nil {
			*c = content(*text)
		}
		return nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return fmt.Errorf("reading the content: %w", err)
	}
	for _, part := range parts {
		if part.Type == "text" || part.Type == "output_text" {
			*c += content(part.Text)
		}
	}
	return nil
}

var errNoChoice = errors.New("it holds no choice")

var stops = map[string]agent.Stop{
	"length": agent.StopLength, "content_filter": agent.StopFiltered,
	"tool_calls": agent.StopTools, "function_call": agent.StopTools,
}

func (m *Model) decode(raw []byte) (agent.Answer, error) {
	var r wireResponse
	if err := json.Unmarshal(raw, &r); err != nil {
		return agent.Answer{}, m.unreadable(err)
	}
	if len(r.Choices) == 0 {
		return agent.Answer{}, m.unreadable(errNoChoice)
	}
	choice := r.Choices[0]
	answer := agent.Answer{Text: string(choice.Message.Content), Stop: agent.StopEnd, Usage: gate.Tokens{
		Input: r.Usage.Prompt - r.Usage.Details.Cached, CacheRead: r.Usage.Details.Cached, Output: r.Usage.Completion, Model: r.Model,
	}}
	for _, c := range choice.Message.ToolCalls {
		answer.Calls = append(answer.Calls, agent.ToolCall{ID: c.ID, Name: c.Function.Name, Input: c.Function.Arguments})
	}
	if stop, known := stops[choice.FinishReason]; known {
		answer.Stop = stop
	}
	if choice.Message.Refusal != "" {
		answer.Stop = agent.StopRefused
	}
	if len(answer.Calls) > 0 && answer.Stop == agent.StopEnd {
		answer.Stop = agent.StopTools // some endpoints say "stop" with calls
	}
	return answer, nil
}
