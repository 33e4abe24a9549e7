package proxy

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"breakwater/proxy/dialect"
)

// Limits are the waits that the proxy allows an upstream (stream sheet §6.1).
// They are local deadlines: passing one is no penalty (case P10).
type Limits struct {
	Headers   time.Duration // until the answer's headers, FETCH_TIMEOUT_MS
	Readiness time.Duration // until the first event of a stream
	Stall     time.Duration // until the first output, re-armed by reasoning
	Idle      time.Duration // between two events after it
	Write     time.Duration // for a client that does not read (case P34)
	Heartbeat time.Duration // between two signs of life to a client that waits
	// Hold bounds how long any client waits for its headers; zero leaves it
	// to the client's profile.
	Hold time.Duration
}

// held is how long a client of this kind is left without headers (ruling 45).
func (l Limits) held(p dialect.Profile) time.Duration {
	if l.Hold > 0 {
		return min(l.Hold, p.Hold)
	}
	return p.Hold
}

// DefaultLimits returns the guide's figures.
func DefaultLimits() Limits {
	return Limits{
		Headers: 600 * time.Second, Readiness: 80 * time.Second, Stall: 300 * time.Second,
		Idle: 600 * time.Second, Write: 60 * time.Second, Heartbeat: 15 * time.Second,
	}
}

// DemoLimits returns shorter waits, so that a newcomer sees a stall end.
func DemoLimits() Limits {
	l := DefaultLimits()
	l.Headers, l.Readiness, l.Stall, l.Idle = 10*time.Second, 10*time.Second, 10*time.Second, 20*time.Second
	return l
}

// Causes of a local deadline.
var (
	errNoHeaders = errors.New("no answer in time")
	errNotReady  = errors.New("no event in time")
	errStalled   = errors.New("no model output in time")
	errIdle      = errors.New("the stream went silent")
)

// isDeadline reports whether a cause is one of our own deadlines.
func isDeadline(err error) bool {
	return errors.Is(err, errNoHeaders) || errors.Is(err, errNotReady) || errors.Is(err, errStalled) || errors.Is(err, errIdle)
}

// watch cancels an attempt that makes no progress in time.
type watch struct {
	timer *time.Timer
	cause atomic.Pointer[error]
}

func newWatch(cancel context.CancelCauseFunc) *watch {
	w := &watch{}
	w.timer = time.AfterFunc(time.Hour, func() { cancel(*w.cause.Load()) })
	return w
}

// expect gives the attempt d from now until its next progress.
func (w *watch) expect(d time.Duration, cause error) {
	w.cause.Store(&cause)
	w.timer.Reset(d)
}

func (w *watch) stop() { w.timer.Stop() }
