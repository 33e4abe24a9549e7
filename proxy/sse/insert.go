package sse

import "bytes"

// Inserts are lines that are put in front of bytes of a stream that passes
// otherwise unchanged. The zero value is ready to use.
type Inserts struct{ list []insert }

type insert struct {
	at   int64
	line string
}

// Add puts a line, without its end, in front of the byte at a stream offset.
// Offsets come in order; one that is not beyond the last is ignored.
func (i *Inserts) Add(at int64, line string) {
	if n := len(i.list); n > 0 && at <= i.list[n-1].at {
		return
	}
	i.list = append(i.list, insert{at, line})
}

// Apply returns p, which begins at that offset, with the lines that belong in
// front of its bytes. A line ends as the one behind it does.
func (i *Inserts) Apply(p []byte, from int64) []byte {
	if len(i.list) == 0 || i.list[0].at >= from+int64(len(p)) {
		return p
	}
	out := make([]byte, 0, len(p)+64*len(i.list))
	done := 0
	for len(i.list) > 0 {
		next := i.list[0]
		at := int(next.at - from)
		if at >= len(p) {
			break
		}
		i.list = i.list[1:]
		if at < done {
			continue // its place has passed
		}
		if next.at == 0 && bytes.HasPrefix(p, bom) {
			at = len(bom) // the mark counts at the very beginning only
		}
		out = append(append(out, p[done:at]...), next.line...)
		out, done = append(out, newline(p[at:])...), at
	}
	return append(out, p[done:]...)
}

// newline returns how the first line of p ends.
func newline(p []byte) string {
	n := lineEnd(p)
	switch {
	case n < 0 || p[n] == '\n':
		return "\n"
	case n+1 < len(p) && p[n+1] == '\n':
		return "\r\n"
	}
	return "\r"
}
