package simulator

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/tidwall/gjson"

	"breakwater/proxy/dialect"
)

func TestBreaks(t *testing.T) {
	s, c := start(t, Options{})
	alpha := s.Account("alpha")
	tests := []struct {
		name    string
		step    Step
		headers bool
		text    string // of what arrived
		reset   bool
		clean   bool
	}{
		{name: "reset before headers", step: Reset(), reset: true},
		{name: "cut before headers", step: OK().CutAfter(BeforeHeaders)},
		{name: "reset at the start", step: OK().ResetAfter(AtStart), headers: true, reset: true},
		{name: "cut after the preamble", step: OK().CutAfter(AfterPreamble), headers: true},
		{name: "reset after two deltas", step: OK().ResetAfter(2), headers: true, text: "Hello from ", reset: true},
		{name: "case P31 cut after one delta", step: OK().CutAfter(1), headers: true, text: "Hello "},
		{name: "clean end without closing events", step: OK().EndAfter(AtEnd), headers: true, text: hello, clean: true},
		{name: "clean end after three", step: OK().EndAfter(3), headers: true, text: "Hello from the ", clean: true},
		{name: "clean end at the start", step: OK().EndAfter(AtStart), headers: true, clean: true},
		{name: "cut of a compressed stream", step: OK().CutAfter(2).Encoded(Gzip), headers: true, text: "?"},
		{name: "cut in chunks", step: OK().CutAfter(2).InChunks(5), headers: true, text: "Hello from "},
	}
	for _, d := range spoken {
		for _, tt := range tests {
			t.Run(string(d.Traits().Name)+" "+tt.name, func(t *testing.T) {
				alpha.Script(tt.step)
				got := ask{dialect: d, stream: true}.send(t, c, alpha)
				if (got.Response != nil) != tt.headers {
					t.Fatalf("response %v, %v", got.Response, got.err)
				}
				if (got.err == nil) != tt.clean {
					t.Errorf("clean end %v: %v", tt.clean, got.err)
				}
				if isEOF := errors.Is(got.err, io.EOF) || errors.Is(got.err, io.ErrUnexpectedEOF); !tt.clean && isEOF == tt.reset {
					t.Errorf("reset %v: %v", tt.reset, got.err)
				}
				if tt.text == "?" {
					return
				}
				if text, _, _ := said(t, d, parseEvents(t, got.body)); text != tt.text {
					t.Errorf("said %q", text)
				}
			})
		}
	}
}

func TestBreaksOfDocuments(t *testing.T) {
	s, c := start(t, Options{})
	alpha := s.Account("alpha")
	whole := len(ask{dialect: dialect.Chat}.send(t, c, alpha).body)
	tests := []struct {
		name  string
		step  Step
		clean bool
		bytes int
		found string
	}{
		{name: "cut in the middle", step: OK().CutAfter(3), bytes: whole / 2},
		{name: "cut before the body", step: OK().CutAfter(AfterPreamble), bytes: 0},
		{name: "reset in the middle", step: OK().ResetAfter(1), bytes: whole / 2},
		{name: "clean end in the middle", step: OK().EndAfter(1), clean: true, bytes: whole / 2},
		{name: "error in place of the answer", step: OK().ErrorAfter(1, Error{Message: "broken"}), clean: true, bytes: -1, found: "broken"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			alpha.Script(tt.step)
			got := ask{dialect: dialect.Chat}.send(t, c, alpha)
			if (got.err == nil) != tt.clean || got.Response == nil || got.StatusCode != 200 {
				t.Fatalf("%v %v", got.Response, got.err)
			}
			if tt.bytes >= 0 && len(got.body) != tt.bytes {
				t.Errorf("%d bytes, want %d", len(got.body), tt.bytes)
			}
			if msg := gjson.GetBytes(got.body, "error.message").Str; msg != tt.found {
				t.Errorf("message %q", msg)
			}
		})
	}
}

// A reset is a real RST on the wire, not a close.
func TestResetIsAReset(t *testing.T) {
	s, c := start(t, Options{})
	s.Account("alpha").Script(Reset())
	got := ask{dialect: dialect.Anthropic}.send(t, c, s.Account("alpha"))
	if !errors.Is(got.err, syscall.ECONNRESET) && !strings.Contains(got.err.Error(), "forcibly closed") {
		t.Errorf("error %v", got.err)
	}
}

func TestHugeDataLine(t *testing.T) {
	s, c := start(t, Options{})
	alpha := s.Account("alpha")
	big := strings.Repeat("0123456789abcdef", 9<<20/16) // case P26
	for _, d := range spoken {
		alpha.Script(OK(big).Split(-1))
		got := ask{dialect: d, stream: true}.send(t, c, alpha)
		if text, _, _ := said(t, d, parseEvents(t, got.body)); text != big {
			t.Errorf("%s: %d bytes of text", d.Traits().Name, len(text))
		}
		if n := bytes.Count(got.body, []byte(".delta")) + bytes.Count(got.body, []byte("text_delta")); d != dialect.Chat && n < 1 {
			t.Errorf("%s: no delta", d.Traits().Name)
		}
	}
}
