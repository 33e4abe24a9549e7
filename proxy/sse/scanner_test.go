package sse

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// scan feeds the chunks and returns the events as "name|data".
func scan(chunks ...string) []string {
	var s Scanner
	var got []string
	for _, c := range chunks {
		s.Feed([]byte(c), func(e Event) bool {
			got = append(got, string(e.Name)+"|"+string(e.Data))
			return true
		})
	}
	return got
}

func TestScannerFindsEvents(t *testing.T) {
	tests := []struct {
		name   string
		chunks []string
		want   []string
	}{
		{"one event", []string{"event: a\ndata: x\n\n"}, []string{"a|x"}},
		{"no event without its empty line", []string{"data: x\n"}, nil},
		{"case P24 CRLF torn, CR and no space", []string{"event: a\r\ndata:{\"x\":1}\r", "\n\r", "\ndata: {\"x\":2}\r\r"}, []string{`a|{"x":1}`, `|{"x":2}`}},
		{"case P25 comments are no events", []string{": warming up\n\n: still warming\ndata: {\"a\":1}\n\n"}, []string{`|{"a":1}`}},
		{"case P23 bytes torn inside a rune", []string{"data: caf\xc3", "\xa9 \xf0\x9f", "\x99\x82\n\n"}, []string{"|café 🙂"}},
		{"byte order mark", []string{"\xef\xbb\xbfdata: x\n\n"}, []string{"|x"}},
		{"several data lines", []string{"data: a\ndata: b\n\n"}, []string{"|a\nb"}},
		{"only one space is eaten", []string{"data:  x\n\n"}, []string{"| x"}},
		{"a name alone is an event", []string{"event: ping\n\n"}, []string{"ping|"}},
		{"field without colon", []string{"data\n\n"}, []string{"|"}},
		{"ids and unknown fields are skipped", []string{"id: 1\nretry: 5\nfoo: x\ndata: y\n\n"}, []string{"|y"}},
		{"done mark", []string{"data: [DONE]\n\n"}, []string{"|[DONE]"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := scan(tt.chunks...); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			whole := strings.Join(tt.chunks, "")
			if got := scan(strings.Split(whole, "")...); !slices.Equal(got, tt.want) {
				t.Errorf("rune by rune: got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestScannerKeepsOnlyTheHeadOfALongEvent(t *testing.T) {
	// Case P26: a line of 300 KiB, and one of 9 MiB.
	for _, size := range []int{300 << 10, 9 << 20} {
		t.Run(fmt.Sprintf("case P26 line of %d bytes", size), func(t *testing.T) {
			stream := []byte("data: {\"type\":\"x\"," + strings.Repeat("y", size) + "}\n\ndata: [DONE]\n\n")
			var s Scanner
			var events []Event
			var data []string
			for chunk := range slices.Chunk(stream, 4096) {
				s.Feed(chunk, func(e Event) bool {
					events, data = append(events, e), append(data, string(e.Data))
					return true
				})
			}
			if len(events) != 2 || !events[0].Cut || len(data[0]) != DefaultMaxData || data[1] != "[DONE]" {
				t.Fatalf("got %d events, data of %d bytes", len(events), len(data[0]))
			}
			if events[0].Start != 0 || events[0].End != events[1].Start || events[1].End != int64(len(stream)) {
				t.Errorf("offsets: %+v", events)
			}
			if cap(s.line) > 2*DefaultMaxData {
				t.Errorf("the scanner holds %d bytes of a line", cap(s.line))
			}
		})
	}
}

func TestScannerStopsWhenToldTo(t *testing.T) {
	var s Scanner
	n := 0
	s.Feed([]byte("data: a\n\ndata: b\n\n"), func(Event) bool { n++; return false })
	if n != 1 {
		t.Errorf("emitted %d events after the first refusal", n)
	}
}

func TestScannerFlushGivesTheTornEvent(t *testing.T) {
	var s Scanner
	s.Feed([]byte("data: {\"choices\":[]}\n\ndata: [DONE]"), func(Event) bool { return true })
	if !s.Pending() {
		t.Fatal("an open event is not reported as pending")
	}
	var got string
	s.Flush(func(e Event) bool { got = string(e.Data); return true })
	if got != "[DONE]" {
		t.Errorf("got %q", got)
	}
}

// Whatever the chunking, the events are those of the stream in one piece.
func TestScannerDoesNotDependOnChunks(t *testing.T) {
	line := rapid.StringMatching(`(data|event|id|: c|x)?:? ?[a-z{}":]{0,8}`)
	rapid.Check(t, func(rt *rapid.T) {
		eol := rapid.SampledFrom([]string{"\n", "\r", "\r\n"})
		var b strings.Builder
		for range rapid.IntRange(0, 20).Draw(rt, "lines") {
			b.WriteString(line.Draw(rt, "line"))
			b.WriteString(eol.Draw(rt, "eol"))
		}
		stream := b.String()
		var chunks []string
		for rest := stream; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "chunk")
			chunks, rest = append(chunks, rest[:n]), rest[n:]
		}
		if got, want := scan(chunks...), scan(stream); !slices.Equal(got, want) {
			rt.Fatalf("stream %q in chunks %q: got %q, want %q", stream, chunks, got, want)
		}
	})
}

func FuzzScanner(f *testing.F) {
	f.Add([]byte("event: a\r\ndata:{}\r\n\r\n: c\n\ndata: x"), 3)
	f.Add([]byte("\xef\xbb\xbfdata: x\r\r"), 1)
	f.Fuzz(func(t *testing.T, stream []byte, size int) {
		if size < 1 || size > 1<<16 {
			size = 1
		}
		var s Scanner
		var last, fed int64
		for chunk := range slices.Chunk(stream, size) {
			s.Feed(chunk, func(e Event) bool {
				if e.Start < last || e.End <= e.Start || e.End > int64(len(stream)) {
					t.Fatalf("event [%d,%d) after %d in a stream of %d", e.Start, e.End, last, len(stream))
				}
				if bytes.ContainsAny(e.Name, "\r\n") {
					t.Fatalf("a line end in the name %q", e.Name)
				}
				last = e.End
				return true
			})
			fed += int64(len(chunk))
			if e := s.Begun(); e.Start < last || e.End < e.Start || e.End != fed {
				t.Fatalf("an event begun in [%d,%d) after %d of %d", e.Start, e.End, last, fed)
			}
		}
	})
}

func BenchmarkScanner(b *testing.B) {
	event := []byte("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hello\"}}\n\n")
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	var s Scanner
	for b.Loop() {
		s.Feed(event, func(Event) bool { return true })
	}
}

func TestBegun(t *testing.T) {
	for _, tt := range []struct {
		name       string
		chunks     []string
		event      string
		data       string
		start, end int64
	}{
		{"nothing", nil, "", "", 0, 0},
		{"a whole event", []string{"data: 1\n\n"}, "", "", 9, 9},
		{"a line without its end", []string{"data: 1\n\nda", "ta: 2"}, "", "data: 2", 9, 16},
		{"a name", []string{"data: 1\n\nevent: x\n"}, "x", "", 9, 18},
		{"a name and half a line", []string{"event: x\r", "\ndata: {"}, "x", "data: {", 0, 17},
		{"data without the empty line", []string{"data: 1\ndata: 2\n"}, "", "1\n2", 0, 16},
		{"data and half a line", []string{"data: 1\ndat"}, "", "1dat", 0, 11},
		{"a comment", []string{": c\n"}, "", "", 4, 4},
		{"half a comment", []string{": c\n: d"}, "", ": d", 4, 7},
		{"flushed", []string{"data: 1", "flush"}, "", "", 7, 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s Scanner
			for _, c := range tt.chunks {
				if c == "flush" {
					s.Flush(func(Event) bool { return true })
					continue
				}
				s.Feed([]byte(c), func(Event) bool { return true })
			}
			e := s.Begun()
			if string(e.Name) != tt.event || string(e.Data) != tt.data || e.Start != tt.start || e.End != tt.end {
				t.Errorf("got %q %q %d…%d", e.Name, e.Data, e.Start, e.End)
			}
		})
	}
}
