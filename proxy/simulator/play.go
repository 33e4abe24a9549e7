package simulator

import (
	"context"
	"errors"
	"time"
)

// How an answer can end other than well.
var (
	errAbort = errors.New("the answer is broken off")
	errReset = errors.New("the connection is reset")
	errLeft  = errors.New("the client has left")
)

// op is one thing to do while an answer is played.
type op struct {
	do    opKind
	data  []byte
	wait  time.Duration   // opWait: negative is for ever; opBeat: the pause
	until <-chan struct{} // opHold
	count int             // opBeat: negative is for ever
}

type opKind int

const (
	opWrite opKind = iota
	opHeaders
	opWait
	opHold
	opBeat
	opReset
	opCut
)

// score weaves a step's times and faults into an answer.
type score struct {
	step   Step
	q      *request
	deltas int
	seq    int // frames so far, for the number of an error event
	ops    []op
	over   bool // a break came: nothing follows
}

// compose returns what is to be done to play a.
func compose(q *request, st Step, a answer) []op {
	s := &score{step: st, q: q}
	for _, f := range a.frames {
		if f.role == delta {
			s.deltas++
		}
	}
	if d := time.Duration(st.Delay + a.delay); d != 0 {
		s.add(op{do: opWait, wait: d})
	}
	s.place(BeforeHeaders)
	s.add(op{do: opHeaders})
	s.place(AtStart)
	framing, begun, n := st.framing(), false, 0
	for _, f := range a.frames {
		if !begun && f.role != preamble {
			begun = true
			s.place(AfterPreamble)
		}
		if f.role == delta && a.pace > 0 && len(st.Chunks) == 0 {
			s.add(op{do: opWait, wait: time.Duration(a.pace)})
		}
		s.add(op{do: opWrite, data: framing.write(f)})
		s.seq++
		if f.role == delta {
			n++
			s.place(n)
		}
	}
	if !begun {
		s.place(AfterPreamble)
	}
	return s.ops
}

func (s *score) add(o op) {
	if s.over {
		return
	}
	last := len(s.ops) - 1
	if o.do == opWrite && len(s.step.Chunks) > 0 && last >= 0 && s.ops[last].do == opWrite {
		// Chunks cut through events: neighbours become one run of bytes.
		s.ops[last].data = append(s.ops[last].data, o.data...)
		return
	}
	s.ops = append(s.ops, o)
}

// is reports whether what is set for place after happens at place n.
func (s *score) is(after, n int) bool { return min(after, s.deltas) == n }

// place adds what the step has for a place.
func (s *score) place(n int) {
	st := s.step
	for _, k := range st.KeepAlive {
		if s.is(k.After, n) {
			s.add(op{do: opBeat, data: s.beat(k.Form), wait: time.Duration(k.Every), count: k.Count})
		}
	}
	for _, w := range st.Stalls {
		if s.is(w.After, n) {
			s.add(op{do: opWait, wait: time.Duration(w.For)})
		}
	}
	for _, h := range st.holds {
		if s.is(h.after, n) {
			s.add(op{do: opHold, until: h.until})
		}
	}
	if st.Break != nil && s.is(st.Break.After, n) {
		s.breakOff(*st.Break)
	}
}

func (s *score) breakOff(b Break) {
	switch b.Kind {
	case BreakReset:
		s.add(op{do: opReset})
	case BreakCut:
		s.add(op{do: opCut})
	case BreakError:
		if !s.q.stream || s.q.route != RouteInference {
			return // the document says it
		}
		if b.After == BeforeHeaders {
			s.add(op{do: opHeaders})
		}
		f := s.q.errorFrame(s.q.failure(529, s.step.Error), s.seq, b.Bare)
		s.add(op{do: opWrite, data: s.step.framing().write(f)})
	}
	s.over = true
}

// beat is one sign of life. A form that the dialect does not know is a
// comment.
func (s *score) beat(form string) []byte {
	f := s.step.framing()
	plain := frame{data: text(obj{"type", "keepalive"})}
	switch {
	case form == "ping":
		return f.write(frame{event: "ping", data: text(obj{"type", "ping"})})
	case form == "blank":
		return []byte(f.newline)
	case form == "event":
		plain.event = "keepalive"
		return f.write(plain)
	case form == "data":
		return f.write(plain)
	}
	if own := s.q.voice().beats[form]; own != nil {
		return f.write(own(s))
	}
	return []byte(": keep-alive" + f.newline + f.newline)
}

func responseInProgress(s *score) frame {
	return frame{event: "response.in_progress", data: text(obj{
		"type", "response.in_progress", "sequence_number", s.seq,
		"response", s.q.responseObject("in_progress", nil, nil, arr{}, nil),
	})}
}

// play sends the answer that a step gives to q.
func (s *Server) play(ctx context.Context, o *out, q *request, st Step) error {
	a := s.answer(q, st)
	o.chunks, o.pace = st.Chunks, time.Duration(a.pace)
	for _, p := range compose(q, st, a) {
		if err := o.do(ctx, p, a); err != nil {
			return err
		}
	}
	return o.finish()
}
