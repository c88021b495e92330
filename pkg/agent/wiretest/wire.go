package wiretest

import (
	"encoding/json"
	"net/http"

	"github.com/outerloop-dev/outerloop/pkg/agent"
)

type object = map[string]any

func encoded(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // objects of texts and numbers
	}
	return string(raw)
}

// failure is an error response of the format.
func (reply Reply) failure(w http.ResponseWriter, wire Wire) string {
	if wire == Bedrock {
		w.Header().Set("X-Amzn-ErrorType", reply.Code)
		return encoded(object{"message": reply.Message})
	}
	return encoded(object{"error": object{"message": reply.Message, "type": reply.Code, "param": nil, "code": reply.Code}})
}

var finishReasons = map[agent.Stop]string{
	agent.StopEnd: "stop", agent.StopTools: "tool_calls", agent.StopLength: "length", agent.StopFiltered: "content_filter", agent.StopRefused: "stop",
}

// completion is a chat completion.
func (reply Reply) completion(model string) string {
	a := reply.Answer
	message := object{"role": "assistant", "content": a.Text, "refusal": nil}
	if a.Stop == agent.StopRefused {
		message["content"], message["refusal"] = nil, a.Text
	}
	var calls []object
	for _, c := range a.Calls {
		calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Input}})
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	if a.Usage.Model != "" {
		model = a.Usage.Model
	}
	u := a.Usage
	prompt := u.Input + u.CacheRead
	return encoded(object{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1764547200, "model": model, "system_fingerprint": "fp_1",
		"choices": []object{{"index": 0, "message": message, "logprobs": nil, "finish_reason": finishReasons[a.Stop]}},
		"usage": object{
			"prompt_tokens": prompt, "completion_tokens": u.Output, "total_tokens": prompt + u.Output,
			"prompt_tokens_details":     object{"cached_tokens": u.CacheRead, "audio_tokens": 0},
			"completion_tokens_details": object{"reasoning_tokens": 0},
		},
	})
}

var stopReasons = map[agent.Stop]string{
	agent.StopEnd: "end_turn", agent.StopTools: "tool_use", agent.StopLength: "max_tokens",
	agent.StopFiltered: "guardrail_intervened", agent.StopMalformed: "malformed_model_output",
}

// converse is a response of Converse.
func (reply Reply) converse() string {
	a := reply.Answer
	var content []object
	stop := stopReasons[a.Stop]
	switch {
	case reply.AsTool:
		content = append(content, object{"toolUse": object{"toolUseId": "tooluse_answer", "name": "give_answer", "input": json.RawMessage(a.Text)}})
		if a.Stop == agent.StopEnd {
			stop = "tool_use"
		}
	case a.Text != "":
		content = append(content, object{"text": a.Text})
	}
	for _, c := range a.Calls {
		content = append(content, object{"toolUse": object{"toolUseId": c.ID, "name": c.Name, "input": json.RawMessage(c.Input)}})
	}
	u := a.Usage
	return encoded(object{
		"output":     object{"message": object{"role": "assistant", "content": content}},
		"stopReason": stop, "metrics": object{"latencyMs": 350},
		"usage": object{
			"inputTokens": u.Input, "outputTokens": u.Output, "totalTokens": u.Input + u.Output + u.CacheRead + u.CacheWrite,
			"cacheReadInputTokens": u.CacheRead, "cacheWriteInputTokens": u.CacheWrite,
		},
	})
}
