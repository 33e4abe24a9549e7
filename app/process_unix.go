//go:build !windows

package app

import (
	"os"
	"os/exec"
	"syscall"
)

// hideConsole has nothing to do here.
func hideConsole(*exec.Cmd) {}

// detach lets a process live on without its parent and its terminal.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// terminate asks a process to end.
func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
