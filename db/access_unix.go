//go:build !windows

package db

import "golang.org/x/sys/unix"

// writable asks the system whether this user may write a path.
func writable(path string) error { return unix.Access(path, unix.W_OK) }
