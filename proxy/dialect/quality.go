package dialect

import "github.com/tidwall/gjson"

// OnlyReasoned reports whether a whole JSON answer says nothing because
// thinking used up nearly all of its tokens (combos sheet §2.4).
func (n Name) OnlyReasoned(doc []byte) bool {
	if n.AnswerText(doc) != "" || n.CallsTool(doc) {
		return false
	}
	var all, thought int64
	switch n {
	case Chat:
		u := gjson.GetBytes(doc, "usage")
		all, thought = u.Get("completion_tokens").Int(), u.Get("completion_tokens_details.reasoning_tokens").Int()
	case Responses:
		u := gjson.GetBytes(doc, "usage")
		all, thought = u.Get("output_tokens").Int(), u.Get("output_tokens_details.reasoning_tokens").Int()
	case Anthropic:
		return false // its usage does not tell thinking apart
	}
	return all > 0 && thought*10 >= all*9
}

// Unfinished reports whether a Responses answer says that it is not complete.
func (n Name) Unfinished(doc []byte) bool {
	if n != Responses || gjson.GetBytes(doc, "object").Str != "response" {
		return false
	}
	s := gjson.GetBytes(doc, "status").Str
	return s == "in_progress" || s == "queued" || s == "failed" || s == "cancelled"
}

// CallsTool reports whether a JSON answer calls a tool.
func (n Name) CallsTool(doc []byte) bool {
	switch n {
	case Anthropic:
		return gjson.GetBytes(doc, `content.#(type=="tool_use")`).Exists()
	case Chat:
		m := gjson.GetBytes(doc, "choices.0.message")
		return m.Get("tool_calls.0").Exists() || m.Get("function_call").IsObject()
	case Responses:
		found := false
		gjson.GetBytes(doc, "output").ForEach(func(_, item gjson.Result) bool {
			t := item.Get("type").Str
			found = t != "message" && t != "reasoning" && t != ""
			return !found
		})
		return found
	}
	return false
}
