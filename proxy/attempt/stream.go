package attempt

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

// stream is an event stream on its way through.
type stream struct {
	a    *attempt
	res  *http.Response
	scan sse.Scanner
	// reader follows the answer in its dialect, last is the end that it came to.
	reader dialect.Reader
	last   dialect.Progress
	// finish is the data of the event that says why the model stopped.
	finish    []byte
	failAt    int64           // offset of an error event, or -1
	errorData []byte          // of that event
	content   bool            // the model has said something
	now       readInfo        // what the present read has shown
	looked    time.Time       // when output was seen last
	look      time.Duration   // until it is looked for again
	names     sse.Inserts     // event lines that the upstream leaves out
	thread    *dialect.Thread // what the client has seen, for a continuation

	mu     sync.Mutex
	held   []byte // bytes before the commit point
	passed int64  // bytes that went to the client
	headed bool   // the client has the headers
	open   bool   // past the commit point
	over   bool   // the upstream's stream ends with these bytes
	back   *time.Timer
}

// relay passes an event stream on byte for byte. Nothing reaches the client
// before the first output, the commit point, so that a stream that fails earlier
// is replaced by the next target (cases P19, P29).
//
// The buffer holds the first n bytes already, behind which err came.
func (a *attempt) relay(ctx context.Context, res *http.Response, buf []byte, n int, err error) callResult {
	s := a.newStream(res)
	defer s.settle()
	for {
		if n > 0 {
			s.over = errors.Is(err, io.EOF)
			if out, ended := s.take(buf[:n]); ended {
				return out
			}
		}
		if err != nil {
			return s.end(ctx, err)
		}
		n, err = res.Body.Read(buf)
	}
}

func (a *attempt) newStream(res *http.Response) *stream {
	d := a.req.Dialect
	s := &stream{a: a, res: res, failAt: -1, reader: dialect.NewReader(d, a.req.Body.Choices), look: lookAgain}
	if stall := a.deadlines.stall(); stall > 0 {
		s.look = min(lookAgain, stall/8)
	}
	if a.recovery.ContinueMidStream {
		s.thread = dialect.NewThread(d) // nil where answers cannot be continued
	}
	return s
}

// take handles the next bytes of the stream.
func (s *stream) take(p []byte) (out callResult, ended bool) {
	s.now = readInfo{at: time.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scan.Feed(p, s.event)
	s.a.deadlines.read(s.now)
	switch {
	case !s.open && s.errorData != nil:
		return s.a.failedEvent(s.res, s.errorData), true
	case s.failAt >= 0:
		return s.brokenByUpstream(p), true
	case !s.open && len(s.held)+len(p) < s.room():
		s.held = append(s.held, p...)
		return callResult{}, false
	}
	s.open = true
	return s.a.left(), !s.put(p)
}

// room is how much is held back at most: an answer that has said nothing yet may
// begin with a long preamble, such as a response.created that repeats the
// request's tools.
func (s *stream) room() int {
	if s.content {
		return maxHeld
	}
	return maxPreamble
}

// event looks at one event. It returns false when the rest does not matter.
func (s *stream) event(e sse.Event) bool {
	d := s.a.req.Dialect
	p := s.read(e)
	s.name(d, e)
	s.a.usage.Event(d, p, e)
	if h := s.a.target.History; h != nil {
		h.Event(e.Data)
	}
	switch p {
	case dialect.Output, dialect.Reasoning, dialect.Working:
		s.now.progress = true
	case dialect.Preamble:
		s.now.ready = true
	case dialect.Failed:
		s.failAt, s.errorData = e.Start, append([]byte{}, e.Data...)
		return false
	case dialect.Finish, dialect.Done:
		s.now.ready = true
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
func (s *stream) read(e sse.Event) dialect.Progress {
	if s.content && s.now.at.Sub(s.looked) < s.look {
		s.now.progress = true
		return s.reader.ReadEnd(e)
	}
	p := s.reader.Read(e)
	if p.Alive() {
		s.looked = s.now.at
	}
	return p
}

// name puts the event line in front of an event that has none, while the client
// has not seen its beginning (case Q14).
func (s *stream) name(d dialect.Dialect, e sse.Event) {
	if len(e.Name) > 0 || e.Start < s.passed {
		return
	}
	if kind := dialect.EventName(d, e.Data); kind != "" {
		s.names.Add(e.Start, "event: "+kind)
		s.a.note(mendedNames)
	}
}

// observe follows the text where something depends on it: the rate of output,
// or a continuation.
func (s *stream) observe(d dialect.Dialect, e sse.Event) {
	if s.thread == nil && !s.a.deadlines.measures() {
		return
	}
	kind, text := d.Delta(e)
	s.now.add(kind, len(text))
	if s.thread != nil {
		s.thread.See(e, kind, text)
	}
}

// begin marks the first content. Without recovery it is the commit point;
// with it the client waits a moment longer (ruling 49).
func (s *stream) begin() {
	if s.content {
		return
	}
	s.content = true
	if !s.a.recovery.Enabled {
		s.open = true
		return
	}
	s.back = time.AfterFunc(holdBack, s.release)
}

// holdBack is how long content is held back for a better attempt, once it has
// begun (stream sheet §6.6).
const holdBack = 750 * time.Millisecond

// release ends the holding back.
func (s *stream) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open || s.failAt >= 0 {
		return
	}
	s.open = true
	s.put(nil) // a client that has left is noticed by the next write
}

// settle ends what the relay began.
func (s *stream) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
	if s.back != nil {
		s.back.Stop()
	}
}

// put lets the client see the answer so far and p: headers and everything held,
// the first time. It reports whether the client is still there.
func (s *stream) put(p []byte) bool {
	if len(s.held) > 0 {
		p, s.held = append(s.held, p...), nil
	}
	if n := s.torn(len(p)); n > 0 {
		s.held = bytes.Clone(p[len(p)-n:])
		p = p[:len(p)-n]
	}
	return s.out(p)
}

// out is put for what ends the stream: nothing is held back any more.
func (s *stream) out(p []byte) bool {
	if !s.headed {
		s.headed = true
		s.a.head(s.res, -1)
	}
	named := s.names.Apply(p, s.passed)
	s.passed += int64(len(p))
	p = named
	if s.over {
		return s.a.client.Last(p)
	}
	return s.a.client.Write(p)
}

// torn returns how many of the last n bytes are kept until more comes: an event
// without its end, so that nothing of ours is ever glued to it, and so that an
// error is read before the client does. No client can use it yet. What grows too
// large goes out.
func (s *stream) torn(n int) int {
	e := s.scan.Begun()
	kept := e.End - e.Start
	switch d := s.a.req.Dialect; {
	case kept > maxHeld:
		return 0
	case kept > maxTorn && !dialect.MayFail(e) && (len(e.Name) > 0 || e.Start < s.passed || !d.Traits().NamedEvents || dialect.EventName(d, e.Data) != ""):
		s.name(d, e)
		return 0
	}
	return int(min(kept, int64(n)))
}

// maxTorn is how much of an event is kept back that does not look like an error.
const maxTorn = 8 << 10

// between returns what separates an event of ours from what the client has: an
// event without its end.
func (s *stream) between() []byte {
	s.held = nil
	if !s.headed || !s.scan.Pending() {
		return nil
	}
	return []byte("\n\n")
}

// answered ends a whole stream with what it lacks.
func (s *stream) answered(end []byte) callResult {
	if !s.put(end) {
		return s.a.left()
	}
	return s.a.answered(s.res.StatusCode)
}

// end handles the end of the upstream's stream.
func (s *stream) end(ctx context.Context, err error) callResult {
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
		s.a.client.Flush()
	}
	switch {
	case s.headed && complete:
		return s.answered(end)
	case s.a.gone(ctx):
		return s.a.left()
	case s.headed && s.failAt < 0:
		return s.brokenOff(ctx, err)
	case s.headed:
		return s.broken(s.a.errorEvent(s.res, s.errorData))
	case s.errorData != nil:
		return s.a.failedEvent(s.res, s.errorData)
	case complete && s.content:
		return s.answered(end)
	case complete:
		return s.empty(end)
	}
	return s.lost(ctx, err)
}

// missing is the end that a complete stream lacks (ruling 59).
func (s *stream) missing() []byte {
	end := s.reader.Missing()
	if end != nil {
		s.a.note(mendedEnd)
	}
	return end
}

// empty handles a whole answer without content. It is right when a limit or a
// tool ended it (case P30); otherwise it is suspicious: another try may have
// more to say.
func (s *stream) empty(end []byte) callResult {
	if !dialect.LegitimatelyEmpty(s.a.req.Dialect, s.finish) {
		o := s.a.transport(classify.EmptyAnswer)
		if s.a.reopening.Left() {
			return s.a.reopen(o)
		}
		if s.a.target.More {
			return s.a.fail(o, nil, nil)
		}
	}
	return s.answered(end)
}
