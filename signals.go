package main

import (
	"os"
	"os/signal"
	"syscall"
)

// endSignals are the signals that end the program in good order: running
// answers get their time to finish. A terminal that closes sends SIGHUP, which
// stays ignored where the program was started so (nohup).
func endSignals() []os.Signal {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		ends = append(ends, syscall.SIGHUP)
	}
	return ends
}
