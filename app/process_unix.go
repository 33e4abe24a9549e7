//go:build !windows

package app

import (
	"os"
	"os/exec"
	"syscall"
)

// hideConsole has nothing to do here.
func hideConsole(*exec.Cmd) {}

// terminate asks a process to end.
func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
