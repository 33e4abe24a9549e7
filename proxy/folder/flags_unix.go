//go:build unix

package folder

import "syscall"

const (
	noFollow    = syscall.O_NOFOLLOW
	nonBlocking = syscall.O_NONBLOCK
)
