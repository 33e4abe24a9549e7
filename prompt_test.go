//go:build linux

package main

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// A terminal shows again what is typed when the secret is in; a pipe is no
// terminal.
func TestInputIsHiddenForAWhile(t *testing.T) {
	if _, err := hideInput(pipe(t)); err == nil {
		t.Error("a pipe passes for a terminal")
	}
	tty := terminal(t)
	echoes := func() bool {
		state, err := unix.IoctlGetTermios(int(tty.Fd()), getTermios)
		if err != nil {
			t.Fatal(err)
		}
		return state.Lflag&unix.ECHO != 0
	}
	show, err := hideInput(tty)
	if err != nil {
		t.Fatal(err)
	}
	if echoes() {
		t.Error("what is typed is shown")
	}
	if show(); !echoes() {
		t.Error("what is typed stays hidden")
	}
}

func pipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	return r
}

// terminal opens a pseudo terminal.
func terminal(t *testing.T) *os.File {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudo terminals here:", err)
	}
	t.Cleanup(func() { _ = control.Close() })
	fd := int(control.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	return tty
}
