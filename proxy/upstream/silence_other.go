//go:build !linux

package upstream

import "syscall"

// noticeSilence does nothing: these systems give up on a silent connection
// soon enough, or cannot be told to.
func noticeSilence(_, _ string, _ syscall.RawConn) error { return nil }
