package bedrock

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/gate"
	"github.com/outerloop-dev/outerloop/pkg/schema"
)

// answerTool is the tool whose input is the answer (StructureTool).
const answerTool = "give_answer"

func (m *Model) encode(req agent.Request) (*bedrockruntime.ConverseInput, error) {
	in := &bedrockruntime.ConverseInput{
		ModelId:         &m.cfg.Model,
		InferenceConfig: &types.InferenceConfiguration{MaxTokens: aws.Int32(int32(min(req.MaxTokens, 1<<30)))},
	}
	if req.System != "" {
		in.System = append(in.System, &types.SystemContentBlockMemberText{Value: req.System})
		if m.cfg.Cache {
			in.System = append(in.System, &types.SystemContentBlockMemberCachePoint{Value: types.CachePointBlock{Type: types.CachePointTypeDefault}})
		}
	}
	if req.Temperature != nil {
		in.InferenceConfig.Temperature = aws.Float32(float32(*req.Temperature))
	}
	for _, message := range req.Messages {
		in.Messages = append(in.Messages, encodeMessage(message))
	}
	return in, m.structure(in, req)
}

// structure offers the tools and holds the answer to its form.
func (m *Model) structure(in *bedrockruntime.ConverseInput, req agent.Request) error {
	tools := req.Tools
	forced := req.Output != nil && m.cfg.Structure == StructureTool
	if forced {
		tools = append(append([]agent.Tool(nil), tools...), agent.Tool{
			Name: answerTool, Says: "Give your whole answer with this tool, once, when you are done.", Input: req.Output.Schema,
		})
	}
	if len(tools) > 0 {
		in.ToolConfig = &types.ToolConfiguration{}
	}
	for _, t := range tools {
		doc, err := documentOf(t.Input)
		if err != nil {
			return fmt.Errorf("writing the schema of tool %s: %w", t.Name, err)
		}
		in.ToolConfig.Tools = append(in.ToolConfig.Tools, &types.ToolMemberToolSpec{Value: types.ToolSpecification{
			Name: aws.String(t.Name), Description: aws.String(t.Says), InputSchema: &types.ToolInputSchemaMemberJson{Value: doc},
		}})
	}
	switch {
	case forced && len(req.Tools) == 0:
		in.ToolConfig.ToolChoice = &types.ToolChoiceMemberTool{Value: types.SpecificToolChoice{Name: aws.String(answerTool)}}
	case forced:
		in.ToolConfig.ToolChoice = &types.ToolChoiceMemberAny{}
	case req.Output != nil && m.cfg.Structure == StructureNative:
		in.OutputConfig = &types.OutputConfig{TextFormat: &types.OutputFormat{
			Type: types.OutputFormatTypeJsonSchema,
			Structure: &types.OutputFormatStructureMemberJsonSchema{Value: types.JsonSchemaDefinition{
				Name: aws.String(req.Output.Name), Schema: aws.String(string(req.Output.Schema)),
			}},
		}}
	}
	return nil
}

func documentOf(raw json.RawMessage) (document.Interface, error) {
	v, faults := schema.Decode(raw)
	if len(faults) > 0 {
		return nil, fmt.Errorf("it is no JSON: %s", faults[0])
	}
	return document.NewLazyDocument(v), nil
}

func encodeMessage(message agent.Message) types.Message {
	out := types.Message{Role: types.ConversationRoleUser}
	if message.Role == agent.RoleModel {
		out.Role = types.ConversationRoleAssistant
	}
	for _, r := range message.Results {
		status := types.ToolResultStatusSuccess
		if r.Failed {
			status = types.ToolResultStatusError
		}
		out.Content = append(out.Content, &types.ContentBlockMemberToolResult{Value: types.ToolResultBlock{
			ToolUseId: aws.String(r.ID), Status: status,
			Content: []types.ToolResultContentBlock{&types.ToolResultContentBlockMemberText{Value: r.Text}},
		}})
	}
	if message.Text != "" {
		out.Content = append(out.Content, &types.ContentBlockMemberText{Value: message.Text})
	}
	for _, c := range message.Calls {
		input, err := documentOf(json.RawMessage(c.Input))
		if err != nil { // what the model wrote as input was no JSON: it reads that from the result
			input = document.NewLazyDocument(map[string]any{})
		}
		out.Content = append(out.Content, &types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{
			ToolUseId: aws.String(c.ID), Name: aws.String(c.Name), Input: input,
		}})
	}
	return out
}

var stops = map[types.StopReason]agent.Stop{
	types.StopReasonMaxTokens:                  agent.StopLength,
	types.StopReasonModelContextWindowExceeded: agent.StopLength,
	types.StopReasonToolUse:                    agent.StopTools,
	types.StopReasonContentFiltered:            agent.StopFiltered,
	types.StopReasonGuardrailIntervened:        agent.StopFiltered,
	types.StopReasonMalformedModelOutput:       agent.StopMalformed,
	types.StopReasonMalformedToolUse:           agent.StopMalformed,
}

func (m *Model) decode(out *bedrockruntime.ConverseOutput) (agent.Answer, error) {
	answer := agent.Answer{Stop: agent.StopEnd, Usage: m.usage(out)}
	if stop, known := stops[out.StopReason]; known {
		answer.Stop = stop
	}
	message, _ := out.Output.(*types.ConverseOutputMemberMessage)
	if message == nil && out.StopReason == "" {
		return answer, agent.Failed(outerloop.ClassTransient, time.Time{}, "asking %s: the response is no answer of Converse (%w)", m.cfg.Model, agent.ErrUsageUnknown)
	}
	if message == nil {
		return answer, nil
	}
	var given string
	for _, content := range message.Value.Content {
		switch content := content.(type) {
		case *types.ContentBlockMemberText:
			answer.Text += content.Value
		case *types.ContentBlockMemberToolUse:
			call, err := decodeCall(content.Value)
			if err != nil {
				return answer, err
			}
			if call.Name == answerTool {
				given = call.Input
				continue
			}
			answer.Calls = append(answer.Calls, call)
		}
	}
	if given != "" && len(answer.Calls) == 0 { // with other calls it came too early
		answer.Text = given
		if answer.Stop == agent.StopTools {
			answer.Stop = agent.StopEnd
		}
	}
	return answer, nil
}

func decodeCall(use types.ToolUseBlock) (agent.ToolCall, error) {
	call := agent.ToolCall{ID: aws.ToString(use.ToolUseId), Name: aws.ToString(use.Name), Input: "{}"}
	if use.Input == nil {
		return call, nil
	}
	raw, err := use.Input.MarshalSmithyDocument()
	if err != nil {
		return call, fmt.Errorf("reading the input of tool %s: %w", call.Name, err)
	}
	call.Input = string(raw)
	return call, nil
}

// usage counts as Bedrock does: input without what a cache gave or took. The
// model is the one that a prompt router chose, else the one that was asked for:
// Converse reports no other.
func (m *Model) usage(out *bedrockruntime.ConverseOutput) gate.Tokens {
	used := gate.Tokens{Model: m.cfg.Model}
	if out.Trace != nil && out.Trace.PromptRouter != nil && out.Trace.PromptRouter.InvokedModelId != nil {
		used.Model = *out.Trace.PromptRouter.InvokedModelId
	}
	if u := out.Usage; u != nil {
		used.Input, used.Output = int64(aws.ToInt32(u.InputTokens)), int64(aws.ToInt32(u.OutputTokens))
		used.CacheRead, used.CacheWrite = int64(aws.ToInt32(u.CacheReadInputTokens)), int64(aws.ToInt32(u.CacheWriteInputTokens))
	}
	return used
}
