package simulator

import (
	"strings"
	"unicode/utf8"
)

// role is what part of a stream a frame is, which places are counted by.
type role int

const (
	preamble role = iota // says that an answer begins
	opening              // opens a block or item
	delta                // carries a piece of the answer
	closing              // closes blocks and the stream
)

// frame is one event of a stream, or a run of raw bytes.
type frame struct {
	role  role
	event string
	data  []byte
	raw   bool // data goes out as it is
}

// framing is how events are written down.
type framing struct {
	newline string
	space   string
}

func (s Step) framing() framing {
	f := framing{newline: s.Newline, space: " "}
	if f.newline == "" {
		f.newline = "\n"
	}
	if s.NoSpace {
		f.space = ""
	}
	return f
}

// write returns the frame's bytes.
func (f framing) write(fr frame) []byte {
	if fr.raw {
		return fr.data
	}
	b := make([]byte, 0, len(fr.event)+len(fr.data)+24)
	if fr.event != "" {
		b = append(b, "event:"...)
		b = append(b, f.space...)
		b = append(b, fr.event...)
		b = append(b, f.newline...)
	}
	b = append(b, "data:"...)
	b = append(b, f.space...)
	b = append(b, fr.data...)
	b = append(b, f.newline...)
	return append(b, f.newline...)
}

// split cuts text into deltas: at words when size is zero, at size bytes but
// never inside a letter, or not at all when size is negative.
func split(s string, size int) []string {
	switch {
	case s == "":
		return nil
	case size < 0:
		return []string{s}
	case size == 0:
		return strings.SplitAfter(s, " ")
	}
	var out []string
	for len(s) > size {
		n := size
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		if n == 0 { // the letter is longer than the size
			_, n = utf8.DecodeRuneInString(s)
		}
		out, s = append(out, s[:n]), s[n:]
	}
	return append(out, s)
}
