package simulator

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
)

// Encoder compresses a stream and can push out what it holds.
type Encoder = interface {
	io.WriteCloser
	Flush() error
}

// encode returns an encoder in front of w, or nil for identity.
func (o Options) encode(e Encoding, w io.Writer) Encoder {
	if e == Gzip {
		return gzip.NewWriter(w)
	}
	if make, ok := o.Encoders[e]; ok {
		return make(w)
	}
	return nil
}

// knows tells whether the server can encode so.
func (o Options) knows(e Encoding) error {
	switch _, ok := o.Encoders[e]; {
	case ok, e == Identity, e == Gzip, e == AsAccepted:
		return nil
	}
	return fmt.Errorf("this server has no encoder for %q", e)
}

// compress returns b compressed whole.
func (o Options) compress(e Encoding, b []byte) []byte {
	var buf bytes.Buffer
	enc := o.encode(e, &buf)
	// Writing to a buffer does not fail.
	_, _ = enc.Write(b)
	_ = enc.Close()
	return buf.Bytes()
}

// accepted picks the encoding that an Accept-Encoding header asks for, among
// those that the server knows.
func (o Options) accepted(header string) Encoding {
	for _, e := range []Encoding{Zstd, Brotli, Gzip} {
		for part := range strings.SplitSeq(header, ",") {
			name, _, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(name), string(e)) && o.knows(e) == nil {
				return e
			}
		}
	}
	return Identity
}
