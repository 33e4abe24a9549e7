package attempt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"breakwater/resilience/watchdog"
)

// Case 180: which failures another try of the same target may cure.
func TestReopenable(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cause error
		err   error
		want  bool
	}{
		{"a truncated stream", nil, io.EOF, true},
		{"an incomplete body", nil, io.ErrUnexpectedEOF, true},
		{"a reset", nil, &net.OpError{Op: "read", Err: syscall.ECONNRESET}, true},
		{"a broken pipe", nil, &net.OpError{Op: "write", Err: syscall.EPIPE}, true},
		{"nobody listens", nil, fmt.Errorf("dial: %w", syscall.ECONNREFUSED), true},
		{"an unknown host", nil, &net.DNSError{Err: "no such host"}, true},
		{"a silent body", overdue{watchdog.Silent}, context.Canceled, true},
		{"too little output", overdue{watchdog.TooSlow}, context.Canceled, true},
		{"our own deadline", overdue{watchdog.NotReady}, context.Canceled, false},
		{"the whole time is over", overdue{watchdog.TooLong}, context.Canceled, false},
		{"a client that left", context.Canceled, context.Canceled, false},
		{"something unknown", nil, errors.New("malformed chunk"), false},
	} {
		t.Run("case 180 "+tt.name, func(t *testing.T) {
			if got := breakOf(tt.cause, tt.err).Reopenable(); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
