package dialect

import (
	"github.com/tidwall/gjson"

	"breakwater/proxy/sse"
)

// responses is OpenAI's Responses API.
type responses struct{ plain }

var responsesTraits = Traits{
	Name: "responses", Title: "OpenAI Responses",
	Routes: []Route{{Path: "/responses", Socket: true}},
	Turns:  "input", Limits: []string{"max_output_tokens"},
	Background: true, ToolLimit: true, NamedEvents: true, Rated: true,
	stopKey: finishKey,
}

// Traits implements Dialect.
func (responses) Traits() *Traits { return &responsesTraits }

// leastOutput is the smallest bound that the API accepts, in tokens.
const leastOutput = 16

// Ask implements Dialect.
func (responses) Ask(q Question) []byte {
	req := map[string]any{"model": q.Model, "input": q.Words}
	if q.MaxOutput > 0 {
		req["max_output_tokens"] = max(q.MaxOutput, leastOutput)
	}
	if q.Stream {
		req["stream"] = true
	}
	return marshal(req)
}

func (responses) addSystem(d *editor, text string) {
	if s := gjson.GetBytes(d.raw, "instructions").Str; s != "" {
		text = s + "\n\n" + text
	}
	d.set("instructions", text)
}

// ErrorBody implements Dialect.
func (responses) ErrorBody(r Refusal) []byte { return openAIError(r) }

// ErrorEvent implements Dialect.
func (responses) ErrorEvent(r Refusal) []byte {
	code := "server_error"
	if r.Status == http429 {
		// Codex reads the wait from the words of this code's message.
		code = "rate_limit_exceeded"
	}
	return frame("response.failed", marshal(map[string]any{
		"type": "response.failed",
		"response": map[string]any{
			"object": "response", "status": "failed",
			"error": map[string]any{"code": code, "message": r.Message},
		},
	}))
}

func (d responses) usageEvent(u *Usage, p Progress, e sse.Event) {
	switch p {
	case Done:
		u.Stop = "completed"
		u.stop(gjson.GetBytes(e.Data, "response.incomplete_details.reason"))
		d.usageEnd(u, e)
	case Failed: // what it cost until then
		d.usageEnd(u, e)
	}
}

// usageEnd takes the figures of the response that the last event holds.
func (d responses) usageEnd(u *Usage, e sse.Event) {
	end := e.Data
	if e.Cut {
		end = e.Tail
	}
	end = end[max(0, len(end)-tailSize):]
	if at := lastObject(end, usageKey); at >= 0 {
		d.usageFigures(u, gjson.ParseBytes(end[at:]))
		return
	}
	d.usageFigures(u, gjson.GetBytes(e.Data, "response.usage"))
}

func (responses) usageFigures(u *Usage, r gjson.Result) {
	count(&u.CacheRead, r.Get("input_tokens_details.cached_tokens"))
	u.prompt(r.Get("input_tokens"))
	count(&u.Output, r.Get("output_tokens"))
	count(&u.Reasoning, r.Get("output_tokens_details.reasoning_tokens"))
}

// usageField prefers why an answer is incomplete to the status, whichever comes
// first in the document.
func (responses) usageField(u *Usage, key, value []byte) {
	switch string(key) {
	case "status":
		if u.Stop == "" {
			u.stop(gjson.ParseBytes(value))
		}
	case "incomplete_details":
		u.stop(gjson.GetBytes(value, "reason"))
	}
}

func (responses) usageHead(u *Usage, head []byte) {
	head = head[:min(len(head), tailSize)]
	u.stop(gjson.GetBytes(head, "status"))
	u.stop(gjson.GetBytes(head, "incomplete_details.reason"))
}
