//go:build !linux && !windows

package storage

import "testing"

func disk(t *testing.T, _ *program) {
	t.Helper()
	t.Skip("a small disk needs Linux's tmpfs")
}
