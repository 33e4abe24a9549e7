package upstream

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// silenceLimit is how long sent bytes may stay unacknowledged, in
// milliseconds. The system's own limit is a quarter of an hour.
const silenceLimit = 30_000

// noticeSilence makes a connection fail whose other end has vanished without a
// word, as after a sleep or a change of network (case P55).
func noticeSilence(_, _ string, c syscall.RawConn) error {
	// A socket without the option works all the same.
	return c.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, silenceLimit)
	})
}
