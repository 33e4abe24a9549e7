package dialect

import (
	"maps"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"breakwater/proxy/sse"
)

// chat is OpenAI's Chat Completions API.
type chat struct{ plain }

var chatTraits = Traits{
	Name: "chat", Title: "OpenAI Chat Completions",
	Routes: []Route{{Path: "/chat/completions"}},
	Turns:  "messages", Limits: []string{"max_completion_tokens", "max_tokens"},
	ToolLimit: true, Rated: true,
	stopKey: finishKey,
}

// Traits implements Dialect.
func (chat) Traits() *Traits { return &chatTraits }

// Ask implements Dialect.
func (chat) Ask(q Question) []byte { return chatAsk(q) }

// chatAsk writes a question as the messages that two of the dialects share.
func chatAsk(q Question) []byte {
	req := map[string]any{"model": q.Model, "messages": []any{map[string]string{"role": "user", "content": q.Words}}}
	if q.MaxOutput > 0 {
		req["max_tokens"] = q.MaxOutput
	}
	if q.Stream {
		req["stream"] = true
	}
	return marshal(req)
}

func (chat) addSystem(d *editor, text string) {
	list := gjson.GetBytes(d.raw, "messages").Array()
	at := 0
	for at < len(list) && isSystem(list[at]) {
		at++
	}
	out := []byte{'['}
	for i := 0; i <= len(list); i++ {
		if i == at {
			turn, err := sjson.SetBytes([]byte(`{"role":"system"}`), "content", text)
			d.err = err
			out = append(append(out, turn...), ',')
		}
		if i < len(list) {
			out = append(append(out, list[i].Raw...), ',')
		}
	}
	out[len(out)-1] = ']'
	d.setRaw("messages", string(out))
}

func isSystem(turn gjson.Result) bool {
	role := turn.Get("role").Str
	return role == "system" || role == "developer"
}

func (chat) standing(raw []byte) []byte {
	if first := gjson.GetBytes(raw, "messages.0"); isSystem(first) {
		return []byte(first.Raw)
	}
	return nil
}

// ErrorBody implements Dialect.
func (chat) ErrorBody(r Refusal) []byte { return openAIError(r) }

// ErrorEvent implements Dialect.
func (chat) ErrorEvent(r Refusal) []byte { return frame("", openAIError(r)) }

// openAIError writes a refusal as both of OpenAI's APIs do.
func openAIError(r Refusal) []byte {
	e := map[string]any{"message": r.Message}
	maps.Copy(e, r.Extra)
	e["type"], e["param"], e["code"] = openAIType(r.Type), nil, nil
	if r.Code != "" {
		e["code"] = r.Code
	}
	return marshal(map[string]any{"error": e})
}

// openAIType is the OpenAI word for an Anthropic error type.
func openAIType(t string) string {
	switch t {
	case "api_error", "timeout_error", "overloaded_error":
		return "server_error"
	case "not_found_error", "request_too_large":
		return "invalid_request_error"
	}
	return t
}

func (c chat) usageEvent(u *Usage, p Progress, e sse.Event) {
	if p == Finish {
		u.stop(gjson.GetBytes(e.Data, "choices.0.finish_reason"))
	}
	if at := lastObject(e.Data, usageKey); at >= 0 {
		c.usageFigures(u, gjson.ParseBytes(e.Data[at:]))
	}
}

func (chat) usageFigures(u *Usage, r gjson.Result) {
	count(&u.CacheRead, r.Get("prompt_tokens_details.cached_tokens"))
	count(&u.CacheWrite, r.Get("prompt_tokens_details.cache_write_tokens"))
	u.prompt(r.Get("prompt_tokens"))
	count(&u.Output, r.Get("completion_tokens"))
	count(&u.Reasoning, r.Get("completion_tokens_details.reasoning_tokens"))
}

func (chat) usageField(u *Usage, key, value []byte) {
	if string(key) == "choices" {
		u.stop(gjson.GetBytes(value, "0.finish_reason"))
	}
}
