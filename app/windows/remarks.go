//go:build (cgo || ci) && !nogui

package windows

import (
	"bytes"
	"io"
)

// Remarks returns a writer for the standard logger of a window that was started
// by hand. It keeps back the toolkit's remarks about themes, caches and its own
// preferences, three lines each, and passes on why no window could be made.
func Remarks(to io.Writer) io.Writer { return &remarks{to: to} }

type remarks struct {
	to   io.Writer
	pass bool
}

// Write takes one line, as the standard logger gives it. It never fails.
func (r *remarks) Write(p []byte) (int, error) {
	if !bytes.HasPrefix(p, []byte("  ")) { // the first line; cause and place are set in
		r.pass = !bytes.HasPrefix(p, []byte("Fyne error:")) || bytes.Contains(p, []byte("window creation"))
	}
	if r.pass {
		_, _ = r.to.Write(p) // the standard error stream: there is nobody else to tell
	}
	return len(p), nil
}
