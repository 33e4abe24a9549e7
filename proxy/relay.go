package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"breakwater/proxy/dialect"
	"breakwater/proxy/sse"
	"breakwater/resilience/classify"
)

const (
	// chunk is how much is read at once from an upstream.
	chunk = 16 << 10
	// maxHeld is how much of an answer is held back at most while it is not
	// known whether it is one.
	maxHeld = 64 << 10
	// maxPreamble is how much of a stream is held back at most that has not said
	// anything yet.
	maxPreamble = 1 << 20
)

var chunks = sync.Pool{New: func() any { b := make([]byte, chunk); return &b }}

// relay is the state of an event stream on its way through.
type relay struct {
	t    *attempt
	res  *http.Response
	scan sse.Scanner
	// reader follows the answer in its dialect, last is the end that it came to.
	reader dialect.Reader
	last   dialect.Progress
	// finish is the data of the event that told why the model stopped.
	finish    []byte
	failAt    int64           // offset of an error event, or -1
	errorData []byte          // of that event
	content   bool            // the model has said something
	sight     sight           // what the present read has shown
	looked    time.Time       // when output was seen last
	look      time.Duration   // until it is looked for again
	names     sse.Inserts     // event lines that the upstream leaves out
	told      *dialect.Thread // what the client has seen, for a continuation

	mu     sync.Mutex
	held   []byte // bytes before the commit point
	passed int64  // bytes that went to the client
	headed bool   // the client has the headers
	open   bool   // past the commit point
	over   bool   // the upstream's stream ends with these bytes
	back   *time.Timer
}

// stream relays an event stream byte for byte. Nothing reaches the client
// before the first output, so that a stream that fails earlier is replaced by
// the next target (cases P19, P29).
//
// The buffer holds the first n bytes already, behind which err came.
func (t *attempt) stream(ctx context.Context, res *http.Response, buf []byte, n int, err error) verdict {
	s := t.newRelay(res)
	defer s.settle()
	for {
		if n > 0 {
			s.over = errors.Is(err, io.EOF)
			if v, over := s.take(buf[:n]); over {
				return v
			}
		}
		if err != nil {
			return s.end(ctx, err)
		}
		n, err = res.Body.Read(buf)
	}
}

func (t *attempt) newRelay(res *http.Response) *relay {
	d := t.x.rt.dialect
	s := &relay{t: t, res: res, failAt: -1, reader: d.Reader(t.x.body.Choices), look: lookAgain}
	if stall := t.watch.stall(); stall > 0 {
		s.look = min(lookAgain, stall/8)
	}
	if t.recovery.ContinueMidStream && continues(d) {
		s.told = &dialect.Thread{}
	}
	return s
}

// take handles the next bytes of the stream.
func (s *relay) take(p []byte) (v verdict, over bool) {
	s.sight = sight{at: time.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scan.Feed(p, s.event)
	s.t.watch.saw(s.sight)
	switch {
	case !s.open && s.errorData != nil:
		return s.t.fail(s.t.errorEvent(s.res, s.errorData), s.res.Header, s.errorData), true
	case s.failAt >= 0:
		return s.brokenByUpstream(p), true
	case !s.open && len(s.held)+len(p) < s.room():
		s.held = append(s.held, p...)
		return tryNext, false
	}
	s.open = true
	return ended, !s.pass(p)
}

// room is how much is held back at most: an answer that has said nothing yet may
// begin with a long preamble, such as a response.created that repeats the
// request's tools.
func (s *relay) room() int {
	if s.content {
		return maxHeld
	}
	return maxPreamble
}

// event looks at one event. It returns false when the rest does not matter.
func (s *relay) event(e sse.Event) bool {
	d := s.t.x.rt.dialect
	p := s.read(e)
	s.name(d, e)
	s.t.usage.Event(d, p, e)
	switch p {
	case dialect.Output, dialect.Reasoning, dialect.Working:
		s.sight.progress = true
	case dialect.Preamble:
		s.sight.ready = true
	case dialect.Failed:
		s.failAt, s.errorData = e.Start, append([]byte{}, e.Data...)
		return false
	case dialect.Finish, dialect.Done:
		s.sight.ready = true
		if p == dialect.Finish || s.last != dialect.Finish {
			s.finish = append(s.finish[:0], e.Data...)
		}
		s.last = p
	}
	if s.reader.Said() {
		s.begin()
	}
	s.observe(d, e)
	return true
}

// lookAgain is how often a committed stream is asked whether what it sends is
// output: each of its events would have to be parsed.
const lookAgain = time.Second

// read says what the event means. Once the stream has begun, only that is read
// which costs nothing, and now and then the rest. What follows real output
// within that time counts as progress, so that no dialect's stall budget ends
// early.
func (s *relay) read(e sse.Event) dialect.Progress {
	if s.content && s.sight.at.Sub(s.looked) < s.look {
		s.sight.progress = true
		return s.reader.ReadEnd(e)
	}
	p := s.reader.Read(e)
	if p.Alive() {
		s.looked = s.sight.at
	}
	return p
}

// name puts the event line in front of an event that has none, while the client
// has not seen its beginning (case Q14).
func (s *relay) name(d dialect.Name, e sse.Event) {
	if len(e.Name) > 0 || d == dialect.Chat || e.Start < s.passed {
		return
	}
	if kind := d.EventName(e.Data); kind != "" {
		s.names.Add(e.Start, "event: "+kind)
		s.t.note(mendedNames)
	}
}

// observe follows the text where something depends on it: the rate of output,
// or a continuation.
func (s *relay) observe(d dialect.Name, e sse.Event) {
	if s.told == nil && !s.t.watch.measures() {
		return
	}
	kind, text := d.Delta(e)
	s.sight.add(kind, len(text))
	if s.told != nil {
		s.told.See(d, e, kind, text)
	}
}

// begin marks the first content. Without recovery it is the commit point;
// with it the client waits a moment longer (ruling 49).
func (s *relay) begin() {
	if s.content {
		return
	}
	s.content = true
	if !s.t.recovery.Enabled {
		s.open = true
		return
	}
	s.back = time.AfterFunc(holdBack, s.release)
}

// holdBack is how long content is held back for a better attempt, once it has
// begun (stream sheet §6.6).
const holdBack = 750 * time.Millisecond

// release ends the holding back.
func (s *relay) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open || s.failAt >= 0 {
		return
	}
	s.open = true
	s.put(nil) // a client that has left is noticed by the next write
}

// settle ends what the relay began.
func (s *relay) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
	if s.back != nil {
		s.back.Stop()
	}
}

// pass lets the client see the answer so far and p: headers and everything
// held, the first time. It reports whether the client is still there.
func (s *relay) pass(p []byte) bool {
	if s.put(p) {
		return true
	}
	s.t.gone()
	return false
}

// send is pass for what ends the stream: nothing is held back any more.
func (s *relay) send(p []byte) bool {
	if s.out(p) {
		return true
	}
	s.t.gone()
	return false
}

func (s *relay) put(p []byte) bool {
	if len(s.held) > 0 {
		p, s.held = append(s.held, p...), nil
	}
	if n := s.torn(len(p)); n > 0 {
		s.held = bytes.Clone(p[len(p)-n:])
		p = p[:len(p)-n]
	}
	return s.out(p)
}

func (s *relay) out(p []byte) bool {
	if !s.headed {
		s.headed = true
		s.t.head(s.res, -1)
	}
	named := s.names.Apply(p, s.passed)
	s.passed += int64(len(p))
	p = named
	if s.over {
		return s.t.x.out.last(p)
	}
	return s.t.x.out.write(p)
}

// torn returns how many of the last n bytes are kept until more comes: an event
// without its end, so that nothing of ours is ever glued to it, and so that an
// error is read before the client does. No client can use it yet. What grows too
// large goes out.
func (s *relay) torn(n int) int {
	e := s.scan.Begun()
	kept := e.End - e.Start
	switch d := s.t.x.rt.dialect; {
	case kept > maxHeld:
		return 0
	case kept > maxTorn && !dialect.MayFail(e) && (len(e.Name) > 0 || e.Start < s.passed || d.EventName(e.Data) != "" || d == dialect.Chat):
		s.name(d, e)
		return 0
	}
	return int(min(kept, int64(n)))
}

// maxTorn is how much of an event is kept back that does not look like an error.
const maxTorn = 8 << 10

// between returns what separates an event of ours from what the client has: an
// event without its end.
func (s *relay) between() []byte {
	s.held = nil
	if !s.headed || !s.scan.Pending() {
		return nil
	}
	return []byte("\n\n")
}

// end handles the end of the upstream's stream.
func (s *relay) end(ctx context.Context, err error) verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	var end []byte
	if errors.Is(err, io.EOF) {
		// Some servers end their last event with the stream; parsers would
		// drop it without its empty line.
		s.scan.Flush(func(e sse.Event) bool { end = []byte("\n\n"); return s.event(e) })
	}
	// What follows the last event does not matter; a stream that lacks it must
	// at least end cleanly.
	complete := s.failAt < 0 && (s.last == dialect.Done || errors.Is(err, io.EOF)) && s.reader.Complete()
	if complete {
		end = append(end, s.missing()...)
	}
	if s.over && s.headed && !complete {
		s.over = false
		s.t.x.out.flush()
	}
	switch {
	case s.headed && complete:
		if !s.pass(end) {
			return ended
		}
		return s.t.answered(s.res.StatusCode)
	case s.t.x.r.Context().Err() != nil:
		return s.t.gone()
	case s.headed && s.failAt < 0:
		return s.brokenOff(ctx, err)
	case s.headed:
		return s.broken(s.t.errorEvent(s.res, s.errorData))
	case s.errorData != nil:
		return s.t.fail(s.t.errorEvent(s.res, s.errorData), s.res.Header, s.errorData)
	case complete && s.content:
		if !s.pass(end) {
			return ended
		}
		return s.t.answered(s.res.StatusCode)
	case complete:
		return s.empty(end)
	}
	return s.lost(ctx, err)
}

// missing is the end that a complete stream lacks (ruling 59).
func (s *relay) missing() []byte {
	end := s.reader.Missing()
	if end != nil {
		s.t.note(mendedEnd)
	}
	return end
}

// empty handles a whole answer without content. It is right when a limit or a
// tool ended it (case P30); otherwise it is suspicious: another try may have
// more to say.
func (s *relay) empty(end []byte) verdict {
	if !s.t.x.rt.dialect.LegitimatelyEmpty(s.finish) {
		o := s.t.without(classify.EmptyAnswer)
		if s.t.reopening.Left() {
			return s.t.reopen(o)
		}
		if s.t.x.more {
			return s.t.fail(o, nil, nil)
		}
	}
	if !s.pass(end) {
		return ended
	}
	return s.t.answered(s.res.StatusCode)
}
