package upstream

import (
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// isDead reports whether a call failed because nobody at the other end of an
// open connection answered: the ping was lost, or the packets were not
// acknowledged. Nothing of an answer had come.
func isDead(err error) bool {
	// The transport does not export this error.
	if strings.Contains(err.Error(), "http2: client connection lost") {
		return true
	}
	var op *net.OpError
	return errors.Is(err, syscall.ETIMEDOUT) && (!errors.As(err, &op) || op.Op != "dial")
}

// sleepAfter is how far the wall clock may run ahead of the monotonic one
// before the machine is taken to have slept.
const sleepAfter = 5 * time.Second

// skew notices that the machine slept: the monotonic clock stops meanwhile, the
// wall clock does not. The zero value is ready to use.
type skew struct {
	ahead atomic.Int64 // wall time minus monotonic time, in nanoseconds
	known atomic.Bool
}

// jumped reports whether the machine slept since the last call.
func (s *skew) jumped(ahead time.Duration) bool {
	before := s.ahead.Swap(int64(ahead))
	return s.known.Swap(true) && ahead-time.Duration(before) > sleepAfter
}

// began anchors the monotonic clock.
var began = time.Now()

// measured is wall time minus monotonic time.
func measured() time.Duration {
	now := time.Now()
	return time.Duration(now.UnixNano() - int64(now.Sub(began)))
}

// Ahead returns how far the wall clock is ahead of the monotonic one; only the
// difference of two calls means something.
func (c *Client) Ahead() time.Duration { return c.ahead() }

// SleptSince reports whether the machine slept since Ahead returned that (case
// P55).
func (c *Client) SleptSince(ahead time.Duration) bool { return c.ahead()-ahead > sleepAfter }
