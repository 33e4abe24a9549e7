package upstream

import (
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// errReplayed ends a call that an upstream refuses to take again and again: the
// transport would go on for a minute.
var errReplayed = errors.New("the call was replayed once and not taken again")

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

// skew notices that the machine slept: the monotonic clock stops meanwhile,
// the wall clock does not. The zero value is ready to use.
type skew struct {
	ahead atomic.Int64 // wall time minus monotonic time, in nanoseconds
	known atomic.Bool
}

// began anchors the monotonic clock.
var began = time.Now()

// slept reports whether the machine slept since the last call.
func (s *skew) slept(now time.Time) bool { return s.jumped(now.UnixNano(), now.Sub(began)) }

func (s *skew) jumped(wall int64, mono time.Duration) bool {
	ahead := wall - int64(mono)
	before := s.ahead.Swap(ahead)
	return s.known.Swap(true) && time.Duration(ahead-before) > sleepAfter
}
