// Package sse finds the events of an event stream without changing or delaying
// its bytes.
package sse

import "bytes"

// DefaultMaxData is how many bytes of an event's data a Scanner keeps when its
// MaxData is zero. The rest of a longer event is counted, not kept: the relay
// forwards the bytes itself and only looks at an event's head.
const DefaultMaxData = 64 << 10

// Event is one dispatched event. Its slices are valid until the scanner is fed
// again.
type Event struct {
	// Name is the event field, empty when the stream gives none.
	Name []byte
	// Data is the data field, several lines joined by a newline, cut at the
	// scanner's MaxData.
	Data []byte
	// Cut tells that Data is shorter than the event's data, and Tail is how the
	// data ends then, as far as a single line holds it.
	Cut  bool
	Tail []byte
	// Start is the stream offset of the event's first line, End the offset
	// behind the empty line that closed it.
	Start, End int64
}

// Scanner splits a stream into events as the HTML standard reads them: LF, CR
// and CRLF end a line wherever the chunks are torn, a leading byte order mark
// is skipped, "data:" needs no space, comments are no events (cases P24, P25).
// The zero value is ready to use.
type Scanner struct {
	MaxData int

	offset  int64  // of the next byte to be fed
	line    []byte // begin of a line that is not yet complete
	tail    []byte // end of a line that was longer than is kept
	lineCut bool   // line was longer than is kept
	lastCR  bool   // the last byte was CR: a LF now belongs to it
	started bool   // the byte order mark can no longer come

	name    []byte
	data    []byte
	hasData bool
	cut     bool
	open    bool  // a line of the present event was seen
	start   int64 // of the present event
	from    int64 // offset of the present line
}

// Feed reads the next bytes of the stream and calls emit for every event that
// they complete, in order. When emit returns false the rest of p is not
// scanned; the stream is not meant to be fed again.
func (s *Scanner) Feed(p []byte, emit func(Event) bool) {
	for len(p) > 0 {
		if s.lastCR {
			s.lastCR = false
			if p[0] == '\n' {
				s.offset++
				s.from = s.offset
				if p = p[1:]; len(p) == 0 {
					return
				}
			}
		}
		n := lineEnd(p)
		if n < 0 {
			s.keep(p)
			s.offset += int64(len(p))
			return
		}
		line := p[:n]
		if len(s.line) > 0 || s.lineCut {
			s.keep(line)
			line = s.line
		}
		eol := 1
		if p[n] == '\r' {
			if n+1 < len(p) && p[n+1] == '\n' {
				eol = 2
			} else if n+1 == len(p) {
				s.lastCR = true
			}
		}
		s.offset += int64(n + eol)
		p = p[n+eol:]
		more := s.take(line, emit)
		s.line, s.lineCut, s.from = s.line[:0], false, s.offset
		if !more {
			return
		}
	}
}

// Pending reports whether bytes of an event that no empty line has closed yet
// were fed. At the end of a stream it means that the last event is torn.
func (s *Scanner) Pending() bool { return s.open || len(s.line) > 0 }

// Begun returns what is known of the event that no empty line has closed yet,
// with the line under way as its data. Its Start and End span what a reader
// cannot use yet: comments that are complete are no part of it. Its slices are
// valid until the scanner is fed again.
func (s *Scanner) Begun() Event {
	e := Event{Name: s.name, Data: s.data, Start: s.from, End: s.offset}
	if s.hasData || len(s.name) > 0 {
		e.Start = s.start
	}
	switch {
	case len(s.line) == 0:
	case s.hasData:
		e.Data = append(append([]byte{}, s.data...), s.line...)
	default:
		e.Data = s.line
	}
	return e
}

// Flush calls emit for an event that only lacks its closing empty line. Some
// servers end their last event with the stream.
func (s *Scanner) Flush(emit func(Event) bool) {
	if len(s.line) > 0 {
		s.take(s.line, emit)
		s.line = s.line[:0]
	}
	s.take(nil, emit)
	s.from = s.offset
}

// lineEnd returns the index of the first CR or LF, or -1.
func lineEnd(p []byte) int {
	n := bytes.IndexByte(p, '\n')
	if n >= 0 {
		p = p[:n]
	}
	if cr := bytes.IndexByte(p, '\r'); cr >= 0 {
		return cr
	}
	return n
}

func (s *Scanner) limit() int {
	if s.MaxData > 0 {
		return s.MaxData
	}
	return DefaultMaxData
}

// keep appends to the present line up to the limit, plus the field's name.
func (s *Scanner) keep(p []byte) {
	room := s.limit() + len("data: ") - len(s.line)
	if len(p) > room {
		s.lineCut = true
		s.keepTail(p[max(room, 0):])
		p = p[:max(room, 0)]
	}
	s.line = append(s.line, p...)
}

// tailSize is how much of the end of a cut line is kept at least.
const tailSize = 4 << 10

func (s *Scanner) keepTail(p []byte) {
	p = p[max(0, len(p)-tailSize):]
	if len(s.tail)+len(p) > 2*tailSize {
		s.tail = append(s.tail[:0], s.tail[len(s.tail)-tailSize:]...)
	}
	s.tail = append(s.tail, p...)
}

var bom = []byte("\xef\xbb\xbf")

// take handles one line without its end.
func (s *Scanner) take(line []byte, emit func(Event) bool) bool {
	if !s.started {
		s.started = true
		line = bytes.TrimPrefix(line, bom)
	}
	if len(line) == 0 {
		return s.dispatch(emit)
	}
	if !s.open {
		s.open, s.start = true, s.from
	}
	if line[0] == ':' {
		return true
	}
	field, value, _ := bytes.Cut(line, colon)
	value = bytes.TrimPrefix(value, space)
	switch string(field) {
	case "data":
		s.addData(value)
	case "event":
		s.name = append(s.name[:0], value...)
	}
	return true
}

var colon, space = []byte{':'}, []byte{' '}

func (s *Scanner) addData(value []byte) {
	if s.hasData {
		s.data = append(s.data, '\n')
	}
	s.hasData = true
	if room := s.limit() - len(s.data); len(value) > room || s.lineCut {
		s.cut = true
		kept := min(len(value), max(room, 0))
		if !s.lineCut {
			s.keepTail(value[kept:])
		}
		value = value[:kept]
	}
	s.data = append(s.data, value...)
}

func (s *Scanner) dispatch(emit func(Event) bool) bool {
	more := true
	if s.hasData || len(s.name) > 0 {
		e := Event{Name: s.name, Data: s.data, Cut: s.cut, Start: s.start, End: s.offset}
		if s.cut {
			e.Tail = s.tail
		}
		more = emit(e)
	}
	s.name, s.data, s.tail = s.name[:0], s.data[:0], s.tail[:0]
	s.hasData, s.cut, s.open = false, false, false
	return more
}
