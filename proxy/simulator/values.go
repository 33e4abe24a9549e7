package simulator

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"breakwater/proxy/dialect"
)

// Duration is a length of time that is written in JSON as "1.5s" or
// "forever", or read from a number of milliseconds. Negative is for ever.
type Duration time.Duration

// MarshalJSON writes the duration as text.
func (d Duration) MarshalJSON() ([]byte, error) {
	if d < 0 {
		return []byte(`"forever"`), nil
	}
	return json.Marshal(time.Duration(d).String())
}

// UnmarshalJSON reads text or milliseconds.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var ms float64
	if json.Unmarshal(b, &ms) == nil {
		*d = Duration(ms * float64(time.Millisecond))
		return nil
	}
	var t string
	if err := json.Unmarshal(b, &t); err != nil {
		return fmt.Errorf("a duration is text or milliseconds: %w", err)
	}
	if t == "forever" {
		*d = Forever
		return nil
	}
	v, err := time.ParseDuration(t)
	*d = Duration(v)
	return err
}

// Piece is a run of raw bytes. In JSON it is the text itself, or "base64:"
// and the bytes in base64 when they are no text.
type Piece []byte

const base64Mark = "base64:"

// MarshalJSON writes text as text and other bytes in base64.
func (p Piece) MarshalJSON() ([]byte, error) {
	if utf8.Valid(p) && !strings.HasPrefix(string(p), base64Mark) {
		return json.Marshal(string(p))
	}
	return json.Marshal(base64Mark + base64.StdEncoding.EncodeToString(p))
}

// UnmarshalJSON reads text or marked base64.
func (p *Piece) UnmarshalJSON(b []byte) error {
	var t string
	if err := json.Unmarshal(b, &t); err != nil {
		return err
	}
	enc, ok := strings.CutPrefix(t, base64Mark)
	if !ok {
		*p = Piece(t)
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(enc)
	*p = raw
	return err
}

// Encoding is how a body is compressed.
type Encoding string

// The content encodings.
const (
	Identity Encoding = ""
	Gzip     Encoding = "gzip"
	Brotli   Encoding = "br"
	Zstd     Encoding = "zstd"
	// AsAccepted compresses only if the request's Accept-Encoding asks for
	// it, with the first of zstd, br and gzip that it names.
	AsAccepted Encoding = "accepted"
)

var (
	encodings  = []Encoding{Identity, Gzip, Brotli, Zstd, AsAccepted}
	breakKinds = []string{BreakReset, BreakCut, BreakEnd, BreakError}
	beatForms  = []string{"ping", "comment", "blank", "event", "data", "in_progress", "empty_chunk"}
)

// Validate reports what in the step cannot be played.
func (s Step) Validate() error {
	if !slices.Contains(kinds, s.Kind) {
		return fmt.Errorf("unknown kind %q, known are %v", s.Kind, kinds)
	}
	if !slices.Contains(encodings, s.Encoding) {
		return fmt.Errorf("unknown encoding %q", s.Encoding)
	}
	if s.When != nil && s.When.Dialect != "" && voices[dialect.Name(s.When.Dialect)] == nil {
		return fmt.Errorf("unknown dialect %q, use %s", s.When.Dialect, dialect.Choice())
	}
	if s.Kind == KindStatus && s.Status < 200 || s.Status != 0 && (s.Status < 200 || s.Status > 999) {
		return fmt.Errorf("status %d cannot be sent", s.Status)
	}
	if s.Tool != nil && s.Tool.Arguments != "" && !json.Valid([]byte(s.Tool.Arguments)) {
		return fmt.Errorf("the tool's arguments are no JSON")
	}
	if b := s.Break; b != nil && !slices.Contains(breakKinds, b.Kind) {
		return fmt.Errorf("unknown break %q, known are %v", b.Kind, breakKinds)
	}
	for _, k := range s.KeepAlive {
		if !slices.Contains(beatForms, k.Form) {
			return fmt.Errorf("unknown keep-alive form %q, known are %v", k.Form, beatForms)
		}
		if k.Count < 0 && k.Every <= 0 {
			return fmt.Errorf("an endless keep-alive needs a pause")
		}
	}
	for _, n := range s.Chunks {
		if n < 1 {
			return fmt.Errorf("a chunk has at least one byte")
		}
	}
	return nil
}
