package dialect

import (
	"strconv"

	"github.com/tidwall/gjson"
)

// chatHistory is what gateways of Chat Completions seal in an assistant's
// message: details of reasoning, and the thinking of Messages behind it.
type chatHistory struct{}

func (chat) history() history { return chatHistory{} }

var chatMarks = []mark{{"reasoning_details", true}, {"thinking_blocks", true}}

func (chatHistory) marks() []mark { return chatMarks }

// sealedFields are the lists of a message that hold sealed reasoning.
var sealedFields = []string{"reasoning_details", "thinking_blocks"}

func sealedDetail(d gjson.Result) (s Sealed, ok bool) {
	s.Seal = firstOf(d, "signature", "data")
	return s, s.Seal != ""
}

func eachSealedDetail(message gjson.Result, see func(Sealed)) {
	for _, f := range sealedFields {
		if l := message.Get(f); l.IsArray() {
			l.ForEach(func(_, d gjson.Result) bool {
				if s, ok := sealedDetail(d); ok {
					see(s)
				}
				return true
			})
		}
	}
}

func (chatHistory) request(raw []byte, see func(Sealed)) {
	gjson.GetBytes(raw, "messages").ForEach(func(_, m gjson.Result) bool {
		eachSealedDetail(m, see)
		return true
	})
}

func (chatHistory) event(data []byte, see func(Sealed)) {
	gjson.GetBytes(data, "choices").ForEach(func(_, c gjson.Result) bool {
		eachSealedDetail(c.Get("delta"), see)
		return true
	})
}

func (chatHistory) document(doc []byte, see func(Sealed)) {
	gjson.GetBytes(doc, "choices").ForEach(func(_, c gjson.Result) bool {
		eachSealedDetail(c.Get("message"), see)
		return true
	})
}

func (chatHistory) without(raw []byte, drop func(Sealed) bool, _ bool) ([]byte, Taken) {
	at, ok := regions(raw, "messages")
	if !ok || !at[0].given() {
		return raw, Taken{}
	}
	d := &editor{raw: raw[at[0].at:at[0].end]}
	var taken Taken
	for i, m := range gjson.ParseBytes(d.raw).Array() {
		for _, f := range sealedFields {
			taken.Items += dropDetails(d, m, strconv.Itoa(i)+"."+f, m.Get(f), drop)
		}
	}
	if taken.Items == 0 || d.err != nil {
		return raw, Taken{}
	}
	return splice(raw, swap{at[0], d.raw}), taken
}

// dropDetails takes the named elements out of a list of a message, and the list
// when none is left.
func dropDetails(d *editor, m gjson.Result, path string, details gjson.Result, drop func(Sealed) bool) (n int) {
	if !details.IsArray() || !m.IsObject() {
		return 0
	}
	var kept []string
	details.ForEach(func(_, one gjson.Result) bool {
		if s, ok := sealedDetail(one); ok && drop(s) {
			n++
		} else {
			kept = append(kept, one.Raw)
		}
		return true
	})
	switch {
	case n == 0:
	case len(kept) == 0:
		d.drop(path)
	default:
		d.setRaw(path, string(list(kept)))
	}
	return n
}
