package sse

import (
	"bytes"
	"strings"
	"testing"
)

func TestFirstBytesDecide(t *testing.T) {
	for in, want := range map[string]Form{
		"": Undecided, " \r\n\t": Undecided, "\xef": Undecided, "\xef\xbb": Undecided, "\xef\xbb\xbf": Undecided, "\n\xef\xbb": Undecided,
		"d": Undecided, "data": Undecided, "even": Undecided, "i": Undecided, "retr": Undecided,
		"data:": Events, "data: x": Events, "event:x": Events, "id:1": Events, "retry: 5": Events, ":": Events, ": hi": Events,
		"\xef\xbb\xbfdata:": Events, "\xef\xbb\xbf \r\n event:": Events, "\r\n\r\nid:": Events, "\n\xef\xbb\xbfdata:": Events,
		"{": JSON, " [": JSON, "\xef\xbb\xbf{": JSON, "<": Page, "\n<!doctype": Page, "\xef\xbb\xbf<": Page,
		"x": Other, "dash": Other, "database:": Other, "Data:": Other, "\"x\"": Other, "null": Other, "data :": Other, "\xef\xbbx": Other, "\x00{": Other,
	} {
		if got, _ := FormOf([]byte(in)); got != want {
			t.Errorf("%q is %d, want %d", in, got, want)
		}
	}
	for before, want := range map[string]bool{
		"": false, "\n\r\n": false, "\xef\xbb\xbf": false, "\xef\xbb\xbf\n": false, " ": true, "\n\t": true, "\n\xef\xbb\xbf": true, "\xef\xbb\xbf\xef\xbb\xbf": true,
	} {
		if got := Hides([]byte(before)); got != want {
			t.Errorf("%q hides: %v", before, got)
		}
	}
}

// FuzzFormOf: once decided, no later byte changes the form, and what is undecided
// is short but for its blanks.
func FuzzFormOf(f *testing.F) {
	for _, s := range []string{"", "\xef\xbb\xbf \r\nevent: x\n\n", "{\"a\":1}", "<html>", "data: x", ": c", "retry", "x", "\xef\xbb"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		last, from := Undecided, 0
		for n := range len(p) + 1 {
			got, at := FormOf(p[:n])
			if last != Undecided && (got != last || at != from) {
				t.Fatalf("%q: %d at %d became %d at %d", p[:n], last, from, got, at)
			}
			if got == Undecided && n-at >= len("retry:") {
				t.Fatalf("%q is undecided", p[:n])
			}
			last, from = got, at
		}
	})
}

// FuzzInserts: without its lines the stream is as it was, in whatever pieces it
// passes, and each line stands in front of its event.
func FuzzInserts(f *testing.F) {
	f.Add([]byte("data: a\n\ndata: b\n\n"), uint8(3))
	f.Add([]byte("\xef\xbb\xbfdata: a\r\n\r\n: c\r\ndata: b\r\n\r\n"), uint8(1))
	f.Add([]byte("data: a\r\revent: x\rdata: b\r\r"), uint8(7))
	f.Fuzz(func(t *testing.T, p []byte, size uint8) {
		const line = "event: inserted"
		if bytes.Contains(p, []byte("inserted")) {
			return
		}
		var scan Scanner
		var all, in Inserts
		want := 0
		scan.Feed(p, func(e Event) bool {
			if len(e.Name) == 0 {
				want++
				all.Add(e.Start, line)
				in.Add(e.Start, line)
			}
			return true
		})
		whole := all.Apply(p, 0)
		var pieces []byte
		step := max(int(size), 4)
		for at := 0; at < len(p); at += step {
			pieces = append(pieces, in.Apply(p[at:min(at+step, len(p))], int64(at))...)
		}
		for _, out := range [][]byte{whole, pieces} {
			got := strings.NewReplacer(line+"\r\n", "", line+"\n", "", line+"\r", "").Replace(string(out))
			if bytes.Count(out, []byte(line)) != want || bytes.Equal(out, p) != (want == 0) || got != string(p) {
				t.Fatalf("%q became %q", p, out)
			}
		}
		named := 0
		var again Scanner
		again.Feed(whole, func(e Event) bool {
			if string(e.Name) == "inserted" {
				named++
			}
			return true
		})
		if named > want {
			t.Fatalf("%d of %d events are named: %q", named, want, whole)
		}
	})
}
