package app

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// hideConsole keeps a console program from flashing up its window.
func hideConsole(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true, CreationFlags: windows.CREATE_NO_WINDOW}
}

// terminate ends a process; Windows has no way to ask it first.
func terminate(p *os.Process) error { return p.Kill() }
