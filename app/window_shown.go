package app

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"time"
)

// showRequest is a request to show the window at a page.
type showRequest struct {
	number uint64 // control.Event's Show
	page   string
	at     time.Time
}

// showPatience is how old a request may be that a window left unanswered when
// it ended, for the window to open once more.
const showPatience = 10 * time.Second

// shownPrefix begins the line by which the window process tells its parent
// which requests it has answered.
const shownPrefix = "breakwater-window shown "

// TellShown writes to the parent of a window process that the window stands at
// what the request of this number asked for; number 0 says that it reads the
// requests from now on.
func TellShown(w io.Writer, number uint64) { _, _ = fmt.Fprintf(w, "%s%d\n", shownPrefix, number) }

// ensure answers a show event: a running window reads it itself. One that is
// just closing does not, and is opened again when it has ended.
func (w *window) ensure(page string, number uint64) {
	w.mu.Lock()
	if number > w.asked.number {
		w.asked = showRequest{number: number, page: page, at: time.Now()}
	}
	w.mu.Unlock()
	w.open(page)
}

// answered notes which request the window has answered. A window that has just
// begun to read them may have missed the newest, which is then repeated.
func (w *window) answered(number uint64) {
	w.mu.Lock()
	w.shown = max(w.shown, number)
	missed := number == 0 && w.asked.number > w.shown
	page := w.asked.page
	w.mu.Unlock()
	if missed {
		w.again(page)
	}
}

// answers passes the output of a window process on, except the lines by which
// it answers requests.
type answers struct {
	next  io.Writer
	shown func(number uint64)
	line  []byte // begun and not ended yet
}

// Write takes whole lines out of what came; only one goroutine may call it.
func (a *answers) Write(p []byte) (int, error) {
	a.line = append(a.line, p...)
	for {
		line, rest, ok := bytes.Cut(a.line, []byte("\n"))
		if !ok {
			break
		}
		if digits, ours := bytes.CutPrefix(line, []byte(shownPrefix)); ours {
			if n, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 10, 64); err == nil {
				a.shown(n)
			}
		} else if _, err := a.next.Write(append(line[:len(line):len(line)], '\n')); err != nil {
			return len(p), err
		}
		a.line = append(a.line[:0], rest...)
	}
	if len(a.line) > tailSize { // no line of ours is as long
		_, err := a.next.Write(a.line)
		a.line = a.line[:0]
		return len(p), err
	}
	return len(p), nil
}
