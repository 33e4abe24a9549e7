package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Lost is why a request is sent again to the same target.
type Lost string

// The reasons.
const (
	// LostIdle is a reused connection that turned out to be lost.
	LostIdle Lost = "connection_lost"
	// NotProcessed is HTTP/2's statement that the request was not processed.
	NotProcessed Lost = "not_processed"
)

// Figures of ruling 67.
const (
	// idleBefore is how long a reused connection must have been idle for its loss
	// to say that the upstream had closed it before the request came: a second as
	// the upstream counts it, which begins when its last byte leaves, up to a
	// network's delay before that byte is read here.
	idleBefore = time.Second - 50*time.Millisecond
	// lostWithin is how long after the last byte of the request that shows: later
	// the request may have been taken and worked on.
	lostWithin = 5 * time.Second
)

// maxUnsent is how many connections a request may find closed before a byte of
// it was written.
const maxUnsent = 3

// fate is what the failure of a trip means for the request.
type fate uint8

const (
	failed  fate = iota // a transport failure: it is not sent again
	unsent              // no byte of it was written, so that it was never sent
	lost                // the connection was lost before the request reached it
	refused             // HTTP/2 says that it was not processed
)

// send makes a call's trips over a transport. made returns a fresh request. One
// that was not sent moves on to another connection; one that was is sent again
// once at most.
func (c *Client) send(ctx context.Context, t *http.Transport, made func(context.Context) *http.Request, repeated func(Lost)) (*http.Response, error) {
	for moved, again := 0, false; ; {
		trip := &trip{idleOf: c.idle}
		res, err := t.RoundTrip(made(trip.follow(ctx)))
		if err == nil || ctx.Err() != nil {
			return res, err
		}
		why := LostIdle
		switch trip.fate(err, time.Now()) {
		case failed:
			return nil, err
		case unsent:
			if moved++; moved > maxUnsent {
				return nil, err
			}
			t.CloseIdleConnections()
			continue
		case refused:
			why = NotProcessed
		case lost:
		}
		if again {
			return nil, err
		}
		again = true
		if repeated != nil {
			repeated(why)
		}
		// What else lay idle was closed at the same time, and does not know either.
		t.CloseIdleConnections()
	}
}

// trip is one round trip of a request: what is known of its connection.
type trip struct {
	idleOf func(time.Duration) time.Duration

	mu       sync.Mutex
	reused   bool
	idle     time.Duration // before the request, 0 when it was not idle
	shared   bool          // HTTP/2: other requests are written to it, too
	wire     *wire
	sent     int64 // of the wire, before the request
	wrote    time.Time
	answered bool // a byte of the answer came
}

// follow returns a context in which the transport reports to the trip.
func (t *trip) follow(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: t.gotConn,
		WroteRequest: func(httptrace.WroteRequestInfo) {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.wrote = time.Now()
		},
		GotFirstResponseByte: func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.answered = true
		},
	})
}

func (t *trip) gotConn(info httptrace.GotConnInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reused, t.idle, t.shared, t.wire, t.wrote = info.Reused, 0, false, nil, time.Time{}
	if info.WasIdle {
		t.idle = info.IdleTime
		if t.idleOf != nil {
			t.idle = t.idleOf(t.idle)
		}
	}
	for c := info.Conn; c != nil && t.wire == nil; {
		switch at := c.(type) {
		case *wire:
			t.wire = at
			t.sent, _ = at.written()
		case *tls.Conn:
			t.shared = t.shared || at.ConnectionState().NegotiatedProtocol == "h2"
			c = at.NetConn()
		default:
			return
		}
	}
}

// fate says what an error means that ended the trip at this time.
func (t *trip) fate(err error, now time.Time) fate {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.answered:
		return failed
	case notProcessed(err):
		return refused
	case !t.reused:
		return failed
	case isDead(err):
		// Nothing acknowledges what was written, as after another network was
		// chosen (case P55): this is a connection to nowhere, not a loss that an
		// upstream at work can cause.
		return lost
	case !isLost(err):
		return failed
	}
	last := t.wrote
	if t.wire != nil {
		sent, at := t.wire.written()
		if sent == t.sent {
			return unsent
		}
		if !t.shared {
			last = at
		}
	}
	if t.idle < idleBefore || !last.IsZero() && now.Sub(last) > lostWithin {
		return failed
	}
	return lost
}

// notProcessed reports whether HTTP/2 says that the upstream did not work on
// the request: a GOAWAY below its stream, or REFUSED_STREAM. The transport
// exports none of these errors.
func notProcessed(err error) bool {
	text := err.Error()
	for _, sign := range []string{
		"Transport received Server's graceful shutdown GOAWAY",
		"Transport received GOAWAY from server ErrCode",
		"; REFUSED_STREAM",
	} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}

// Windows' numbers for an aborted and a reset connection.
const (
	wsaAborted syscall.Errno = 10053
	wsaReset   syscall.Errno = 10054
)

// isLost reports whether the other end closed or reset the connection.
func isLost(err error) bool {
	for _, sign := range []error{
		io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, wsaAborted, wsaReset,
	} {
		if errors.Is(err, sign) {
			return true
		}
	}
	// The transport does not export this error.
	return strings.Contains(err.Error(), "server closed idle connection")
}

// wire is a connection that knows what was written to it.
type wire struct {
	net.Conn
	mu   sync.Mutex
	sent int64 // bytes
	last time.Time
}

// Write implements net.Conn.
func (w *wire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	if n > 0 {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.sent += int64(n)
		w.last = time.Now()
	}
	return n, err
}

func (w *wire) written() (bytes int64, last time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent, w.last
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// measuredDial makes wires of a dialer's connections.
func measuredDial(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &wire{Conn: c}, nil
	}
}
