package exchange

import (
	"breakwater/proxy/attempt"
	"net/http"
	"sync"
	"time"
)

// Response is the client's side of an exchange. While nothing has been sent, the
// answer can still be a status of any kind; a client that waits for a stream is
// held like that only as long as its profile allows (ruling 45). After that it
// gets its 200 and heartbeats, until an answer or its failure comes.
type Response struct {
	w     http.ResponseWriter
	ctl   *http.ResponseController
	limit time.Duration // for one write
	gone  func() bool

	mu        sync.Mutex
	timer     *time.Timer
	heartbeat []byte
	every     time.Duration
	headed    bool // status and headers have been sent
	early     bool // by the first heartbeat
	quiet     bool
	sent      int64
	first     time.Time // of the answer's head
	err       error     // of the first failed write
	until     time.Time // the write deadline in force
}

// NewResponse returns the response that w writes; a write that takes longer than
// limit counts as a client that has left (case P34). gone reports at once whether
// the client has left.
func NewResponse(w http.ResponseWriter, limit time.Duration, gone func() bool) *Response {
	return &Response{w: w, ctl: http.NewResponseController(w), limit: limit, gone: gone}
}

// hold begins to wait for an answer: after the given time the client gets its
// headers and a heartbeat, and further ones from then on.
func (o *Response) hold(after, every time.Duration, heartbeat []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.heartbeat, o.every = heartbeat, every
	o.timer = time.AfterFunc(after, o.beat)
}

func (o *Response) beat() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.quiet || o.err != nil || o.headed && !o.early {
		return
	}
	if !o.headed {
		o.headed, o.early = true, true
		h := o.w.Header()
		h.Set("Content-Type", "text/event-stream")
		attempt.StreamHeader(h)
		o.w.WriteHeader(http.StatusOK)
	}
	o.send(o.heartbeat)
	o.timer.Reset(o.every)
}

// Close ends the heartbeats. The write deadline stays for what net/http has yet
// to write; it takes it away before the connection is used again.
func (o *Response) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.close()
}

func (o *Response) close() {
	o.quiet = true
	if o.timer != nil {
		o.timer.Stop()
	}
}

// Begun implements attempt.Client: the client has seen a status.
func (o *Response) Begun() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.headed
}

// Gone implements attempt.Client.
func (o *Response) Gone() bool { return o.gone() }

// refuse sends the head of an error. It reports false when the client has a
// status already.
func (o *Response) refuse(status int, fill func(http.Header)) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.close()
	if o.headed {
		return false
	}
	o.headed = true
	fill(o.w.Header())
	o.w.WriteHeader(status)
	return true
}

// Head implements attempt.Client: the commit point. It sends status and headers,
// unless a heartbeat had to.
func (o *Response) Head(status int, fill func(http.Header)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.close()
	if o.first.IsZero() {
		o.first = time.Now()
	}
	if o.headed {
		return
	}
	o.headed = true
	fill(o.w.Header())
	o.w.WriteHeader(status)
}

// Write implements attempt.Client.
func (o *Response) Write(p []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.send(p)
	return o.err == nil
}

// Last implements attempt.Client: one packet for p and the end.
func (o *Response) Last(p []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.put(p)
	return o.err == nil
}

// Flush implements attempt.Client.
func (o *Response) Flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.headed && o.err == nil {
		o.err = o.ctl.Flush()
	}
}

// send writes and flushes. The caller holds the lock.
func (o *Response) send(p []byte) {
	if o.put(p); len(p) > 0 && o.err == nil {
		o.err = o.ctl.Flush()
	}
}

func (o *Response) put(p []byte) {
	if len(p) == 0 || o.err != nil {
		return
	}
	o.extend()
	var n int
	n, o.err = o.w.Write(p)
	o.sent += int64(n)
}

// extend gives the next write its time. A deadline is set for some writes at
// once: setting one costs as much as a small write.
func (o *Response) extend() {
	now := time.Now()
	if o.until.Sub(now) >= o.limit {
		return
	}
	o.until = now.Add(o.limit + o.limit/4)
	_ = o.ctl.SetWriteDeadline(o.until) // unsupported only without a socket
}

// bytes returns how many bytes of a body were sent.
func (o *Response) bytes() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sent
}

// firstTokenMs returns how many milliseconds after a moment the answer began, -1
// when none did.
func (o *Response) firstTokenMs(began time.Time) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.first.IsZero() {
		return -1
	}
	return o.first.Sub(began).Milliseconds()
}
