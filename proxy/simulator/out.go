package simulator

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"time"
)

// out is the sending side of one request.
type out struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	closing <-chan struct{}
	opts    Options

	enc    Encoder
	each   bool // flush after every write
	chunks []int
	turn   int // the next of chunks
	pace   time.Duration
	status int
	sent   int64
	dirty  bool // something is not flushed
}

// do plays one op.
func (o *out) do(ctx context.Context, p op, a answer) error {
	switch p.do {
	case opHeaders:
		o.headers(a)
		return nil
	case opWrite:
		return o.write(ctx, p.data)
	case opWait:
		return o.wait(ctx, p.wait)
	case opHold:
		return o.hold(ctx, p.until)
	case opBeat:
		return o.beats(ctx, p)
	case opReset:
		_ = o.flush() // what was written before the break counts as sent
		return fmt.Errorf("%w: %w", errAbort, errReset)
	case opCut:
		_ = o.flush()
		return errAbort
	}
	return nil
}

func (o *out) headers(a answer) {
	h := o.w.Header()
	maps.Copy(h, a.header)
	o.each = a.stream || len(o.chunks) > 0
	o.w.WriteHeader(a.status)
	o.status, o.dirty = a.status, true
	if a.stream {
		o.enc = o.opts.encode(a.encoder, o.w)
	}
}

// write sends b, cut into chunks if the step says so.
func (o *out) write(ctx context.Context, b []byte) error {
	if len(o.chunks) == 0 {
		return o.put(ctx, b)
	}
	for len(b) > 0 {
		n := min(o.chunks[o.turn%len(o.chunks)], len(b))
		o.turn++
		if o.pace > 0 {
			if err := o.wait(ctx, o.pace); err != nil {
				return err
			}
		}
		if err := o.put(ctx, b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

func (o *out) put(ctx context.Context, b []byte) error {
	if ctx.Err() != nil {
		return errLeft
	}
	w := io.Writer(o.w)
	if o.enc != nil {
		w = o.enc
	}
	n, err := w.Write(b)
	o.sent += int64(n)
	o.dirty = true
	if err == nil && o.each {
		err = o.flush()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errLeft, err)
	}
	return nil
}

func (o *out) flush() error {
	if !o.dirty {
		return nil
	}
	o.dirty = false
	if o.enc != nil {
		if err := o.enc.Flush(); err != nil {
			return err
		}
	}
	return o.rc.Flush()
}

// wait is silent for d, or for ever, until the client leaves or the server
// closes.
func (o *out) wait(ctx context.Context, d time.Duration) error {
	if d < 0 {
		return o.hold(ctx, nil)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	if err := o.flush(); err != nil {
		return fmt.Errorf("%w: %w", errLeft, err)
	}
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return errLeft
	case <-o.closing:
		return errLeft
	}
}

func (o *out) hold(ctx context.Context, until <-chan struct{}) error {
	if err := o.flush(); err != nil {
		return fmt.Errorf("%w: %w", errLeft, err)
	}
	select {
	case <-until:
		return nil
	case <-ctx.Done():
		return errLeft
	case <-o.closing:
		return errLeft
	}
}

func (o *out) beats(ctx context.Context, p op) error {
	for i := 0; p.count < 0 || i < p.count; i++ {
		if err := o.wait(ctx, p.wait); err != nil {
			return err
		}
		if err := o.put(ctx, p.data); err != nil {
			return err
		}
	}
	return nil
}

// finish ends the body cleanly.
func (o *out) finish() error {
	if o.enc == nil {
		return nil
	}
	if err := o.enc.Close(); err != nil {
		return fmt.Errorf("%w: %w", errLeft, err)
	}
	return nil
}

// abort closes the connection without ending the body, by a TCP reset or by a
// plain close. It does not return if the connection cannot be taken over.
func (o *out) abort(reset bool) {
	if !reset {
		panic(http.ErrAbortHandler)
	}
	conn, _, err := o.rc.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	if t, ok := conn.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // closing now sends RST in place of FIN
	}
	_ = conn.Close()
}
