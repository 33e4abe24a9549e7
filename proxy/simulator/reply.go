package simulator

import (
	"fmt"
	"strings"
)

// reply is what the model says, before it is put into a dialect.
type reply struct {
	q        *request
	thinking []string
	text     string
	deltas   []string // text, as it is streamed
	tool     *Tool
	stop     string // the step's stop reason; empty is the usual one
	usage    Usage
}

// reply makes the answer that the step asks for.
func (s Step) reply(q *request) reply {
	r := reply{q: q, thinking: s.Thinking, stop: s.StopReason}
	kind := s.Kind
	switch {
	case kind == KindAuto && (q.hasResult || len(q.tools) == 0),
		kind == KindAsked && (q.hasResult || !q.asksForTool()):
		kind = KindText
	case kind == KindAuto, kind == KindAsked:
		kind = KindTool
	}
	if kind == KindTool {
		if t, ok := q.pickTool(s.Tool); ok {
			r.tool = &t
		} else {
			kind = KindText
		}
	}
	if kind == KindText {
		r.text = s.Text
		if r.text == "" {
			r.text = fmt.Sprintf("Hello from the demo account %s.", q.account)
		}
		r.deltas = split(r.text, s.SplitBytes)
	}
	r.usage = r.count()
	if s.Usage != nil {
		r.usage = *s.Usage
	}
	return r
}

// count makes up token figures: four bytes are about one token.
func (r reply) count() Usage {
	out := len(r.text)
	if r.tool != nil {
		out += len(r.tool.Name) + len(r.tool.Arguments)
	}
	thought := len(strings.Join(r.thinking, ""))
	return Usage{Input: tokens(len(r.q.body)), Output: tokens(out + thought), Reasoning: thought / 4}
}

func tokens(bytes int) int { return bytes/4 + 1 }

// frames returns the reply as an event stream of the request's dialect.
func (r reply) frames() []frame { return r.q.voice().frames(r) }

// whole returns the reply as one JSON document.
func (r reply) whole() []byte { return text(r.q.voice().whole(r)) }

func (r reply) responsesWhole() obj { return r.responsesObject("", r.responsesItems()) }

// argumentDeltas cuts a tool's arguments so that fragments are no JSON by
// themselves (case P41).
func (r reply) argumentDeltas() []string {
	return split(r.tool.Arguments, max(len(r.tool.Arguments)/3, 1))
}

// id returns an identifier of this request with the vendor's prefix. It is
// the same at every call.
func (q *request) id(prefix string) string {
	// The multiplier spreads the count over the bits, as the vendors' ids
	// have no order that shows.
	return fmt.Sprintf("%s01%016x%06x", prefix, uint64(q.seq)*0x9e3779b97f4a7c15, q.seq&0xffffff)
}
