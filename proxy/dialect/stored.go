package dialect

import (
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// chained is a dialect in which a request can continue an answer that its account
// has stored, by naming it (ruling 61).
type chained interface {
	// previous returns the name of the answer that a request continues.
	previous(raw []byte) string
	// stores reports whether the account keeps the answer to a request.
	stores(raw []byte) bool
	// answer returns the name of a finished answer and what it added, from its last
	// event or the whole document.
	answer(data []byte) (id string, items []string)
	// items returns what a request adds to the conversation.
	items(raw []byte) []string
	// expanded returns the request with the conversation before it in place of a
	// name.
	expanded(raw []byte, before []string) ([]byte, bool)
}

// Previous returns the name of the stored answer that a request continues, empty
// for none.
func Previous(d Dialect, raw []byte) string {
	if c, ok := d.history().(chained); ok {
		return c.previous(raw)
	}
	return ""
}

// Stores reports whether the answer to a request can be continued by its name.
func Stores(d Dialect, raw []byte) bool {
	c, ok := d.history().(chained)
	return ok && c.stores(raw)
}

// StoredAnswer returns the name and the items of a finished answer, from the last
// event of its stream or from the whole document; empty for anything else.
func StoredAnswer(d Dialect, data []byte) (id string, items []string) {
	if c, ok := d.history().(chained); ok {
		return c.answer(data)
	}
	return "", nil
}

// Items returns what a request adds to its conversation.
func Items(d Dialect, raw []byte) []string {
	if c, ok := d.history().(chained); ok {
		return c.items(raw)
	}
	return nil
}

// Expanded returns the request with the conversation before it in place of the
// name of an answer; false when the body does not allow it.
func Expanded(d Dialect, raw []byte, before []string) ([]byte, bool) {
	if c, ok := d.history().(chained); ok {
		return c.expanded(raw, before)
	}
	return nil, false
}

var previousMarks, outputMarks = []mark{{"previous_response_id", true}}, []mark{{"output", true}}

func (responsesHistory) previous(raw []byte) string {
	if !mentions(raw, previousMarks) {
		return ""
	}
	return gjson.GetBytes(raw, "previous_response_id").Str
}

func (responsesHistory) stores(raw []byte) bool {
	return gjson.GetBytes(raw, "store").Type != gjson.False && !gjson.GetBytes(raw, "conversation").Exists()
}

func (responsesHistory) answer(data []byte) (id string, items []string) {
	if !mentions(data, outputMarks) || !gjson.ValidBytes(data) {
		return "", nil
	}
	r := gjson.ParseBytes(data)
	if kind := r.Get("type").Str; kind == "response.completed" || kind == "response.incomplete" {
		r = r.Get("response")
	}
	if r.Get("object").Str != "response" || !r.Get("output").IsArray() {
		return "", nil
	}
	return r.Get("id").Str, elements(r.Get("output"))
}

func (responsesHistory) items(raw []byte) []string {
	input := gjson.GetBytes(raw, "input")
	if input.Type == gjson.String {
		return []string{`{"role":"user","content":` + input.Raw + `}`}
	}
	return elements(input)
}

func (h responsesHistory) expanded(raw []byte, before []string) ([]byte, bool) {
	var all []string
	for _, one := range before {
		item := gjson.Parse(one)
		s, sealed := sealedItem(item)
		if sealed && !s.Compacted && item.Get("encrypted_content").Str == "" {
			continue // it stands for what the account has stored
		}
		all = append(all, withoutID(item, ofModel(item) && !sealed))
	}
	all = append(all, h.items(raw)...)
	out, err := sjson.DeleteBytes(raw, "previous_response_id")
	if err == nil {
		out, err = sjson.SetRawBytes(out, "input", list(all))
	}
	return out, err == nil
}

func elements(r gjson.Result) (out []string) {
	if r.IsArray() {
		r.ForEach(func(_, e gjson.Result) bool {
			out = append(out, e.Raw)
			return true
		})
	}
	return out
}
