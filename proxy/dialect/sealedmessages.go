package dialect

import (
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// messagesHistory is what Anthropic Messages seals: thinking by its signature,
// redacted thinking and compaction by their ciphertext.
type messagesHistory struct{}

func (anthropic) history() history { return messagesHistory{} }

var messagesMarks = []mark{{"signature", true}, {"thinking", false}, {"redacted_thinking", false}, {"compaction", false}}

func (messagesHistory) marks() []mark { return messagesMarks }

// sealedBlock returns what a content block seals; ok is false for most.
func sealedBlock(b gjson.Result) (s Sealed, ok bool) {
	switch b.Get("type").Str {
	case "thinking":
		return Sealed{Seal: firstOf(b, "signature", "thinking")}, true
	case "redacted_thinking":
		return Sealed{Seal: firstOf(b, "data")}, true
	case "compaction":
		s = Sealed{Seal: firstOf(b, "encrypted_content", "signature"), Compacted: true}
		return s, s.Seal != "" // a summary in plain words is everybody's
	}
	return s, false
}

func eachSealedBlock(content gjson.Result, see func(Sealed)) {
	if !content.IsArray() {
		return
	}
	content.ForEach(func(_, b gjson.Result) bool {
		if s, ok := sealedBlock(b); ok && s.Seal != "" {
			see(s)
		}
		return true
	})
}

func (messagesHistory) request(raw []byte, see func(Sealed)) {
	gjson.GetBytes(raw, "messages").ForEach(func(_, m gjson.Result) bool {
		eachSealedBlock(m.Get("content"), see)
		return true
	})
}

func (messagesHistory) event(data []byte, see func(Sealed)) {
	e := gjson.ParseBytes(data)
	switch e.Get("type").Str {
	case "content_block_start":
		if s, ok := sealedBlock(e.Get("content_block")); ok && s.Seal != "" {
			see(s)
		}
	case "content_block_delta":
		if seal := e.Get("delta.signature").Str; seal != "" {
			see(Sealed{Seal: seal})
		}
		if seal := e.Get("delta.encrypted_content").Str; seal != "" {
			see(Sealed{Seal: seal, Compacted: true})
		}
	}
}

func (messagesHistory) document(doc []byte, see func(Sealed)) {
	eachSealedBlock(gjson.GetBytes(doc, "content"), see)
}

// message is one message of a conversation that is edited.
type message struct {
	gjson.Result
	role string
	// kept are the blocks that stay, nil while none was taken out.
	kept []string
	gone bool
}

// takes returns how many of the message's blocks out names, and takes them out.
func (m *message) take(out func(gjson.Result) bool) (n int) {
	content := m.Get("content")
	if m.role != "assistant" || !content.IsArray() {
		return 0
	}
	var kept []string
	content.ForEach(func(_, b gjson.Result) bool {
		if out(b) {
			n++
		} else {
			kept = append(kept, b.Raw)
		}
		return true
	})
	if n > 0 {
		m.kept, m.gone = kept, len(kept) == 0
	}
	return n
}

func (h messagesHistory) without(raw []byte, drop func(Sealed) bool, forced bool) ([]byte, Taken) {
	at, ok := regions(raw, "messages", "thinking", "context_management")
	if !ok || !at[0].given() {
		return raw, Taken{}
	}
	all := messagesOf(raw[at[0].at:at[0].end])
	open := openCycle(all)
	named := func(b gjson.Result) bool {
		s, ok := sealedBlock(b)
		return ok && !s.Compacted && drop(s)
	}
	thinking := func(b gjson.Result) bool {
		s, ok := sealedBlock(b)
		return ok && !s.Compacted
	}
	var taken Taken
	for i := range all[:open] {
		taken.Items += all[i].take(named)
	}
	// An answer that is still under way has to keep its thinking whole, or none.
	if cycle := all[open:]; anyBlock(cycle, named) {
		for i := range cycle {
			taken.Items += cycle[i].take(thinking)
		}
		taken.Disabled = true
	} else if forced && lacksThinking(cycle, thinking) {
		taken.Disabled = true
	}
	taken.Disabled = taken.Disabled && thinks(raw, at[1])
	if !taken.Any() {
		return raw, taken
	}
	var swaps []swap
	if taken.Items > 0 {
		swaps = append(swaps, swap{at[0], joined(all)})
	}
	if taken.Disabled {
		swaps = append(swaps, swap{at[1], []byte(`{"type":"disabled"}`)})
	}
	out := splice(raw, swaps...)
	if taken.Disabled && at[2].given() {
		out = withoutThinkingEdits(out)
	}
	return out, taken
}

func messagesOf(raw []byte) (all []message) {
	gjson.ParseBytes(raw).ForEach(func(_, m gjson.Result) bool {
		all = append(all, message{Result: m, role: m.Get("role").Str})
		return true
	})
	return all
}

// thinks reports whether the request asks for thinking.
func thinks(raw []byte, at region) bool {
	kind := gjson.GetBytes(raw[at.at:at.end], "type").Str
	return at.given() && kind != "" && kind != "disabled"
}

// openCycle returns where the answer that is still under way begins: the tool
// calls whose results come last, or an answer that the request continues. There
// is none behind the last message.
func openCycle(all []message) int {
	first := len(all)
	for i := len(all) - 1; i >= 0; i-- {
		switch m := &all[i]; {
		case m.role == "assistant":
			first = i
		case m.role == "user" && !hasBlock(m, "tool_result"):
			return first
		}
	}
	return first
}

func hasBlock(m *message, kind string) (found bool) {
	if c := m.Get("content"); c.IsArray() {
		c.ForEach(func(_, b gjson.Result) bool {
			found = b.Get("type").Str == kind
			return !found
		})
	}
	return found
}

func anyBlock(list []message, f func(gjson.Result) bool) (found bool) {
	for i := range list {
		if c := list[i].Get("content"); list[i].role == "assistant" && c.IsArray() {
			c.ForEach(func(_, b gjson.Result) bool {
				found = found || f(b)
				return !found
			})
		}
	}
	return found
}

// lacksThinking reports whether the last tool calls of an open cycle do not begin
// with the thinking that led to them.
func lacksThinking(cycle []message, thinking func(gjson.Result) bool) bool {
	for i := len(cycle) - 1; i >= 0; i-- {
		if m := &cycle[i]; m.role == "assistant" {
			return hasBlock(m, "tool_use") && !thinking(m.Get("content.0"))
		}
	}
	return false
}

// joined writes the messages. One that is left without content goes, and its
// neighbours of one role become one message: roles have to alternate.
func joined(all []message) []byte {
	var out []string
	role, removed := "", false
	for i := range all {
		m := &all[i]
		if m.gone {
			removed = true
			continue
		}
		text := m.Raw
		if m.kept != nil {
			if b, err := sjson.SetRawBytes([]byte(m.Raw), "content", list(m.kept)); err == nil {
				text = string(b)
			}
		}
		if removed && m.role == role && role != "" {
			out[len(out)-1] = merged(out[len(out)-1], text)
		} else {
			out = append(out, text)
		}
		role, removed = m.role, false
	}
	return list(out)
}

// merged returns the first message with the blocks of the second behind its own.
func merged(first, second string) string {
	blocks := append(blocksOf(gjson.Get(first, "content")), blocksOf(gjson.Get(second, "content"))...)
	b, err := sjson.SetRawBytes([]byte(first), "content", list(blocks))
	if err != nil {
		return first
	}
	return string(b)
}

func blocksOf(content gjson.Result) (blocks []string) {
	if content.Type == gjson.String {
		return []string{`{"type":"text","text":` + content.Raw + `}`}
	}
	content.ForEach(func(_, b gjson.Result) bool {
		blocks = append(blocks, b.Raw)
		return true
	})
	return blocks
}

// withoutThinkingEdits drops the edits of context_management that are refused
// while thinking is disabled.
func withoutThinkingEdits(raw []byte) []byte {
	var kept []string
	edits := gjson.GetBytes(raw, "context_management.edits")
	all := 0
	edits.ForEach(func(_, e gjson.Result) bool {
		if all++; !strings.HasPrefix(e.Get("type").Str, "clear_thinking") {
			kept = append(kept, e.Raw)
		}
		return true
	})
	if len(kept) == all {
		return raw
	}
	d := &editor{raw: raw}
	if len(kept) == 0 {
		d.drop("context_management")
	} else {
		d.setRaw("context_management.edits", string(list(kept)))
	}
	if d.err != nil {
		return raw
	}
	return d.raw
}
