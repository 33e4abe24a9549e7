package dialect

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"breakwater/proxy/sse"
)

// responseParts assembles a response.
type responseParts struct {
	base  string // the response as it ended
	items []json.RawMessage
}

func (responses) assembler() assembler { return &responseParts{} }

func (a *responseParts) take(e sse.Event, root gjson.Result) {
	switch string(eventType(e)) {
	case "response.output_item.done":
		a.items = append(a.items, json.RawMessage(root.Get("item").Raw))
	case "response.completed", "response.incomplete":
		a.base = root.Get("response").Raw
	}
}

// document puts the items back where a server leaves them out of the end.
func (a *responseParts) document() string {
	if gjson.Valid(a.base) && len(gjson.Get(a.base, "output").Array()) == 0 && len(a.items) > 0 {
		return with(a.base, "output", rawList(a.items))
	}
	return a.base
}

// numberedEvents writes Responses events, whose numbers count up.
type numberedEvents struct {
	*made
	next int
}

func (m *numberedEvents) put(kind string, fields ...string) {
	m.event("response."+kind, append([]string{"sequence_number", strconv.Itoa(m.next)}, fields...)...)
	m.next++
}

// stream implements documents: an answer that has not ended is none.
func (responses) stream(m *made, root gjson.Result, _ bool) bool {
	output := root.Get("output")
	if !root.IsObject() || !output.IsArray() {
		return false
	}
	status := root.Get("status").Str
	switch status {
	case "": // some servers leave it out
		status = "completed"
	case "completed", "incomplete":
	default:
		return false
	}
	n := &numberedEvents{made: m}
	begun := with(root.Raw, "object", `"response"`, "status", `"in_progress"`, "output", "[]", "usage", "null",
		"incomplete_details", "null", "completed_at", "", "output_text", "")
	n.put("created", "response", begun)
	n.put("in_progress", "response", begun)
	for i, it := range output.Array() {
		n.item(strconv.Itoa(i), it)
	}
	n.put(status, "response", with(root.Raw, "object", `"response"`, "status", quote(status)))
	return true
}

// FailureIn implements Dialect.
func (responses) FailureIn(doc []byte) []byte {
	if gjson.GetBytes(doc, "status").Str != "failed" {
		return nil
	}
	return rawObject("type", `"response.failed"`, "response", oneLine(string(doc)))
}

// item writes one output item: its start without content, the content in
// pieces where the dialect has events for it, and its end.
func (m *numberedEvents) item(index string, it gjson.Result) {
	id := it.Get("id").Str
	if id == "" {
		id = "item_" + index
		it = gjson.Parse(with(it.Raw, "id", quote(id)))
	}
	at := []string{"item_id", quote(id), "output_index", index}
	kind := it.Get("type").Str
	empty := []string{"status", ""}
	if it.Get("status").Exists() {
		empty[1] = `"in_progress"`
	}
	arguments, family := argumentsOf(kind)
	switch {
	case kind == "message":
		empty = append(empty, "content", "[]")
	case kind == "reasoning":
		empty = append(empty, "summary", "[]", "content", "")
	case it.Get(arguments).Type == gjson.String:
		empty = append(empty, arguments, `""`)
	}
	m.put("output_item.added", "output_index", index, "item", with(it.Raw, empty...))
	switch {
	case kind == "message" || kind == "reasoning":
		m.parts(at, "summary", "summary_index", it.Get("summary"))
		m.parts(at, "content", "content_index", it.Get("content"))
	case it.Get(arguments).Type == gjson.String:
		raw := it.Get(arguments).Raw
		m.put(family+".delta", append(at[:4:4], "delta", raw)...)
		m.put(family+".done", append(at[:4:4], "name", it.Get("name").Raw, arguments, raw)...)
	}
	m.put("output_item.done", "output_index", index, "item", oneLine(it.Raw))
}

// argumentsOf returns the field in which a call of this kind has its arguments,
// and the family of events in which they are streamed.
func argumentsOf(kind string) (field, family string) {
	switch kind {
	case "function_call", "mcp_call":
		return "arguments", kind + "_arguments"
	case "custom_tool_call":
		return "input", kind + "_input"
	}
	return "-", ""
}

// parts writes the parts of a message or of a reasoning item.
func (m *numberedEvents) parts(at []string, list, key string, parts gjson.Result) {
	for i, part := range parts.Array() {
		at := append(at[:4:4], key, strconv.Itoa(i))
		family, opens := partFamily(list, part.Get("type").Str)
		field := "text"
		if family == "refusal" {
			field = "refusal"
		}
		empty := []string{field, `""`}
		if part.Get("annotations").Exists() {
			empty = append(empty, "annotations", "[]")
		}
		put := func(event string, fields ...string) { m.put(event, append(at[:6:6], fields...)...) }
		put(opens+".added", "part", with(part.Raw, empty...))
		if text := part.Get(field); text.Type == gjson.String {
			logprobs := ""
			if family == "output_text" {
				logprobs = "[]"
			}
			put(family+".delta", "delta", text.Raw, "logprobs", logprobs)
			for j, a := range part.Get("annotations").Array() {
				put("output_text.annotation.added", "annotation_index", strconv.Itoa(j), "annotation", oneLine(a.Raw))
			}
			put(family+".done", field, text.Raw, "logprobs", logprobs)
		}
		put(opens+".done", "part", oneLine(part.Raw))
	}
}

// partFamily returns the events of a part's text, and those that open and close
// the part.
func partFamily(list, kind string) (text, part string) {
	switch {
	case list == "summary":
		return "reasoning_summary_text", "reasoning_summary_part"
	case strings.HasPrefix(kind, "reasoning"):
		return "reasoning_text", "content_part"
	case kind == "refusal":
		return "refusal", "content_part"
	}
	return "output_text", "content_part"
}

// AnswerText implements Dialect.
func (responses) AnswerText(doc []byte) string {
	var parts []string
	gjson.GetBytes(doc, "output").ForEach(func(_, item gjson.Result) bool {
		if t := textOf(item.Get("content")); item.Get("type").Str == "message" && t != "" {
			parts = append(parts, t)
		}
		return true
	})
	return strings.Join(parts, "\n")
}

// CallsTool implements Dialect.
func (responses) CallsTool(doc []byte) bool {
	found := false
	gjson.GetBytes(doc, "output").ForEach(func(_, item gjson.Result) bool {
		t := item.Get("type").Str
		found = t != "message" && t != "reasoning" && t != ""
		return !found
	})
	return found
}

// EmptyDocument implements Dialect.
func (responses) EmptyDocument(doc []byte) bool {
	r := gjson.GetManyBytes(doc, "object", "status", "output", "output.#")
	return r[0].Str == "response" && r[1].Str == "completed" && r[2].IsArray() && r[3].Int() == 0
}

// Unfinished implements Dialect.
func (responses) Unfinished(doc []byte) bool {
	if gjson.GetBytes(doc, "object").Str != "response" {
		return false
	}
	s := gjson.GetBytes(doc, "status").Str
	return s == "in_progress" || s == "queued" || s == "failed" || s == "cancelled"
}

func (responses) tokens(doc []byte) (all, thought int64) {
	u := gjson.GetBytes(doc, "usage")
	return u.Get("output_tokens").Int(), u.Get("output_tokens_details.reasoning_tokens").Int()
}
