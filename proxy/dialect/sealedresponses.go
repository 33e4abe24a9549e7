package dialect

import (
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// responsesHistory is what OpenAI Responses seals: reasoning and compaction by
// their encrypted content.
type responsesHistory struct{}

func (responses) history() history { return responsesHistory{} }

var responsesMarks = []mark{{"encrypted_content", true}, {"reasoning", false}}

func (responsesHistory) marks() []mark { return responsesMarks }

// sealedItem returns what an item seals; ok is false for most. Reasoning without
// encrypted content is known to its account by its id.
func sealedItem(item gjson.Result) (s Sealed, ok bool) {
	switch kind := item.Get("type").Str; {
	case kind == "reasoning":
		return Sealed{Seal: firstOf(item, "encrypted_content", "id")}, true
	case strings.Contains(kind, "compaction"):
		s = Sealed{Seal: firstOf(item, "encrypted_content"), Compacted: true}
		return s, s.Seal != ""
	}
	return s, false
}

func eachSealedItem(items gjson.Result, see func(Sealed)) {
	if !items.IsArray() {
		return
	}
	items.ForEach(func(_, item gjson.Result) bool {
		if s, ok := sealedItem(item); ok && s.Seal != "" {
			see(s)
		}
		return true
	})
}

func (responsesHistory) request(raw []byte, see func(Sealed)) {
	eachSealedItem(gjson.GetBytes(raw, "input"), see)
}

func (responsesHistory) event(data []byte, see func(Sealed)) {
	e := gjson.ParseBytes(data)
	switch e.Get("type").Str {
	case "response.output_item.done":
		if s, ok := sealedItem(e.Get("item")); ok && s.Seal != "" {
			see(s)
		}
	case "response.completed", "response.incomplete":
		eachSealedItem(e.Get("response.output"), see)
	}
}

func (responsesHistory) document(doc []byte, see func(Sealed)) {
	eachSealedItem(gjson.GetBytes(doc, "output"), see)
}

func (responsesHistory) without(raw []byte, drop func(Sealed) bool, _ bool) ([]byte, Taken) {
	at, ok := regions(raw, "input")
	if !ok || !at[0].given() {
		return raw, Taken{}
	}
	items := gjson.ParseBytes(raw[at[0].at:at[0].end])
	if !items.IsArray() {
		return raw, Taken{}
	}
	var kept []string
	var taken Taken
	follows := false // the item came of reasoning that was taken out
	items.ForEach(func(_, item gjson.Result) bool {
		s, sealed := sealedItem(item)
		switch {
		case sealed && !s.Compacted && drop(s):
			taken.Items++
			follows = true
			return true
		case sealed || !ofModel(item):
			follows = false
		}
		kept = append(kept, withoutID(item, follows))
		return true
	})
	if taken.Items == 0 {
		return raw, taken
	}
	return splice(raw, swap{at[0], list(kept)}), taken
}

// ofModel reports whether an item is the model's own: a call or an answer.
func ofModel(item gjson.Result) bool {
	kind := item.Get("type").Str
	if kind == "" || kind == "message" {
		return item.Get("role").Str == "assistant"
	}
	return !strings.HasSuffix(kind, "_output")
}

// withoutID takes the id out of an item whose reasoning is gone: by it the
// account that made it would miss the reasoning, and any other does not know it.
func withoutID(item gjson.Result, follows bool) string {
	if !follows || item.Get("type").Str == "item_reference" || !item.Get("id").Exists() {
		return item.Raw
	}
	out, err := sjson.Delete(item.Raw, "id")
	if err != nil {
		return item.Raw
	}
	return out
}
