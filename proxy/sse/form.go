package sse

import "bytes"

// Form is what the first bytes of a body say that it is. Labels are not
// reliable: event streams come as application/json, text/plain or without any
// type, and JSON comes as an event stream (ruling 60).
type Form uint8

// The forms.
const (
	Undecided Form = iota // more bytes may decide
	Events                // an event stream
	JSON                  // an object or a list
	Page                  // markup
	Other                 // anything else
)

// fields begin the lines of an event stream; a colon alone begins a comment.
var fields = [][]byte{[]byte("data:"), []byte("event:"), []byte("id:"), []byte("retry:"), []byte(":")}

// FormOf returns the form of a body that begins with these bytes, and where its
// first byte is that is neither blank nor part of a byte order mark.
func FormOf(p []byte) (Form, int) {
	at := 0
	for {
		for at < len(p) && blank(p[at]) {
			at++
		}
		if !bytes.HasPrefix(p[at:], bom) {
			break
		}
		at += len(bom)
	}
	rest := p[at:]
	if bytes.HasPrefix(bom, rest) { // nothing yet, or a torn mark
		return Undecided, at
	}
	switch rest[0] {
	case '{', '[':
		return JSON, at
	case '<':
		return Page, at
	}
	for _, f := range fields {
		switch {
		case bytes.HasPrefix(rest, f):
			return Events, at
		case bytes.HasPrefix(f, rest):
			return Undecided, at
		}
	}
	return Other, at
}

func blank(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }

// Hides reports whether what stands before the first field of a stream keeps
// parsers from seeing that field: they skip one byte order mark and empty lines,
// nothing else.
func Hides(before []byte) bool {
	return len(bytes.Trim(bytes.TrimPrefix(before, bom), "\r\n")) > 0
}
