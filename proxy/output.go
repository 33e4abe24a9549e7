package proxy

import (
	"net/http"
	"sync"
	"time"
)

// output is the client's side of an exchange. While nothing has been sent, the
// answer can still be a status of any kind; a client that waits for a stream
// is held like that only as long as it stands it (ruling 45). After that it
// gets its 200 and signs of life, until an answer or its failure comes.
type output struct {
	w     http.ResponseWriter
	ctl   *http.ResponseController
	limit time.Duration // for one write

	mu     sync.Mutex
	beat   *time.Timer
	sign   []byte // of life
	every  time.Duration
	headed bool // status and headers have been sent
	early  bool // by the first sign of life
	done   bool
	sent   int64
	err    error     // of the first failed write
	until  time.Time // the write deadline in force
}

func newOutput(w http.ResponseWriter, limit time.Duration) *output {
	return &output{w: w, ctl: http.NewResponseController(w), limit: limit}
}

// hold begins to wait for an answer: after the given time the client gets its
// headers and a sign of life, and further ones from then on.
func (o *output) hold(after, every time.Duration, sign []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sign, o.every = sign, every
	o.beat = time.AfterFunc(after, o.live)
}

// live sends a sign of life.
func (o *output) live() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done || o.err != nil || o.headed && !o.early {
		return
	}
	if !o.headed {
		o.headed, o.early = true, true
		h := o.w.Header()
		h.Set("Content-Type", "text/event-stream")
		streamHeader(h)
		o.w.WriteHeader(http.StatusOK)
	}
	o.send(o.sign)
	o.beat.Reset(o.every)
}

// streamHeader keeps what lies between us and the client from buffering.
func streamHeader(h http.Header) {
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
}

// quiet ends the signs of life: an answer begins.
func (o *output) quiet() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.done = true
	if o.beat != nil {
		o.beat.Stop()
	}
}

// begun reports whether the client has seen a status.
func (o *output) begun() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.headed
}

// head sends status and headers, unless a sign of life had to.
func (o *output) head(status int, fill func(http.Header)) {
	o.quiet()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.headed {
		return
	}
	o.headed = true
	fill(o.w.Header())
	o.w.WriteHeader(status)
}

// write sends bytes at once. It reports whether the client is still there; one
// that does not read for too long is not (case P34).
func (o *output) write(p []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.send(p)
	return o.err == nil
}

// last writes what the end of the answer takes along: one packet for both.
func (o *output) last(p []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.put(p)
	return o.err == nil
}

// flush sends what last has left behind, when something follows after all.
func (o *output) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.headed && o.err == nil {
		o.err = o.ctl.Flush()
	}
}

// cut drops the client's connection behind all that was written, so that no
// client can take the answer for a whole one.
func (o *output) cut() {
	o.flush()
	panic(http.ErrAbortHandler)
}

// send writes and flushes. The caller holds the lock.
func (o *output) send(p []byte) {
	if o.put(p); len(p) > 0 && o.err == nil {
		o.err = o.ctl.Flush()
	}
}

func (o *output) put(p []byte) {
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
func (o *output) extend() {
	now := time.Now()
	if o.until.Sub(now) >= o.limit {
		return
	}
	o.until = now.Add(o.limit + o.limit/4)
	_ = o.ctl.SetWriteDeadline(o.until) // unsupported only without a socket
}

// bytes returns how many bytes of a body were sent.
func (o *output) bytes() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sent
}

// close ends the output. The deadline stays for what net/http has yet to write;
// it takes it away before the connection is used again.
func (o *output) close() { o.quiet() }
