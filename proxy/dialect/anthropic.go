package dialect

import (
	"maps"

	"github.com/tidwall/gjson"

	"breakwater/proxy/sse"
)

// anthropic is Anthropic's Messages API.
type anthropic struct{ plain }

var anthropicTraits = Traits{
	Name: "anthropic", Title: "Anthropic Messages",
	Routes:    []Route{{Path: "/messages"}, {Path: "/messages/count_tokens", Probe: true}},
	Version:   Header{"Anthropic-Version", []string{"2023-06-01"}},
	Login:     Header{"Anthropic-Beta", []string{OAuthBeta}},
	ListQuery: "limit=1000", // else the first twenty come
	Turns:     "messages", Limits: []string{"max_tokens"},
	NamedEvents: true, SlowElsewhere: true,
	stopKey: []byte(`"stop_reason"`),
}

// OAuthBeta is the capability without which Anthropic refuses OAuth tokens.
const OAuthBeta = "oauth-2025-04-20"

// Traits implements Dialect.
func (anthropic) Traits() *Traits { return &anthropicTraits }

// defaultOutput is what is asked for where a request has to say how much.
const defaultOutput = 64

// Ask implements Dialect.
func (anthropic) Ask(q Question) []byte {
	if q.MaxOutput == 0 {
		q.MaxOutput = defaultOutput
	}
	return chatAsk(q)
}

func (anthropic) addSystem(d *editor, text string) {
	switch s := gjson.GetBytes(d.raw, "system"); {
	case s.IsArray():
		d.set("system.-1", map[string]any{"type": "text", "text": text})
	case s.Str != "":
		d.set("system", s.Str+"\n\n"+text)
	default:
		d.set("system", text)
	}
}

// ErrorBody implements Dialect.
func (anthropic) ErrorBody(r Refusal) []byte {
	e := map[string]any{"type": r.Type, "message": r.Message}
	maps.Copy(e, r.Extra)
	if r.Code != "" {
		e["code"] = r.Code
	}
	return marshal(map[string]any{"type": "error", "error": e})
}

// ErrorEvent implements Dialect.
func (a anthropic) ErrorEvent(r Refusal) []byte { return frame("error", a.ErrorBody(r)) }

func (a anthropic) usageEvent(u *Usage, p Progress, e sse.Event) {
	// A message_delta that finishes nothing yet may have figures, too.
	if p == Preamble || p == Finish {
		a.usageFigures(u, gjson.GetBytes(e.Data, "message.usage"))
		a.usageFigures(u, gjson.GetBytes(e.Data, "usage"))
		u.stop(gjson.GetBytes(e.Data, "delta.stop_reason"))
	}
}

// usageFigures takes figures of which later ones replace earlier ones.
func (anthropic) usageFigures(u *Usage, r gjson.Result) {
	count(&u.Input, r.Get("input_tokens"))
	count(&u.CacheRead, r.Get("cache_read_input_tokens"))
	count(&u.CacheWrite, r.Get("cache_creation_input_tokens"))
	count(&u.Output, r.Get("output_tokens"))
	count(&u.Reasoning, r.Get("output_tokens_details.thinking_tokens"))
}

func (anthropic) usageField(u *Usage, key, value []byte) {
	if string(key) == "stop_reason" {
		u.stop(gjson.ParseBytes(value))
	}
}
