//go:build linux

package cli

import (
	"context"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What is typed at a terminal is not shown while it is a secret, and shown
// again afterwards; a pipe is no terminal.
func TestSecretsAreAskedForWithoutShowingThem(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	if _, ok, err := askHidden(t.Context(), r, io.Discard, ""); ok || err != nil {
		t.Errorf("a pipe passes for a terminal: %v", err)
	}

	keyboard, tty := terminal(t)
	// The prompt comes before the terminal hides: a person types after it.
	var asked strings.Builder
	if _, err := keyboard.WriteString("sk-secret\n"); err != nil {
		t.Fatal(err)
	}
	text, ok, err := askHidden(t.Context(), tty, &asked, "Key: ")
	if text != "sk-secret" || !ok || err != nil || asked.String() != "Key: \n" {
		t.Errorf("got %q, %v, %v after %q", text, ok, err, asked.String())
	}
	if !echoes(t, tty) {
		t.Error("what is typed stays hidden")
	}

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok, err := askHidden(gone, tty, io.Discard, ""); !ok || err == nil {
		t.Errorf("a person who gave up is asked on: %v, %v", ok, err)
	}
	if _, err := keyboard.WriteString("\n"); err != nil { // ends the reader that was left behind
		t.Fatal(err)
	}
}

// A question takes yes for yes and everything else for no, and knows where
// there is nobody to answer.
func TestConfirm(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	if _, asked, err := confirm(t.Context(), r, io.Discard, "?"); asked || err != nil {
		t.Errorf("a pipe was asked: %v", err)
	}
	keyboard, tty := terminal(t)
	if _, err := keyboard.WriteString("y\n"); err != nil {
		t.Fatal(err)
	}
	if yes, asked, err := confirm(t.Context(), tty, io.Discard, "?"); !yes || !asked || err != nil {
		t.Errorf("a terminal: %v %v %v", yes, asked, err)
	}
	for text, want := range map[string]bool{"y\n": true, "Yes\n": true, "\n": false, "n\n": false, "yess\n": false, "": false, "y": false} {
		var out strings.Builder
		if yes, err := saysYes(t.Context(), strings.NewReader(text), &out, "Go on?"); yes != want || err != nil || !strings.HasPrefix(out.String(), "Go on?") {
			t.Errorf("%q: %v %v after %q", text, yes, err, out.String())
		}
	}
}

func echoes(t *testing.T, tty *os.File) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

// terminal opens a pseudo terminal.
func terminal(t *testing.T) (keyboard, tty *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudo terminals here:", err)
	}
	t.Cleanup(func() { _ = keyboard.Close() })
	fd := int(keyboard.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	return keyboard, tty
}
