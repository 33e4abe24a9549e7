package simulator

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// encoder compresses a stream and can push out what it holds.
type encoder interface {
	io.WriteCloser
	Flush() error
}

// encode returns an encoder in front of w, or nil for identity.
func encode(e Encoding, w io.Writer) encoder {
	switch e {
	case Gzip:
		return gzip.NewWriter(w)
	case Brotli:
		return brotli.NewWriterLevel(w, brotli.BestSpeed)
	case Zstd:
		// One goroutine's worth of work: nothing is left running when a
		// stream is broken off before Close.
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			panic("simulator: " + err.Error()) // only wrong options fail
		}
		return z
	}
	return nil
}

// compress returns b compressed whole.
func compress(e Encoding, b []byte) []byte {
	var buf bytes.Buffer
	enc := encode(e, &buf)
	// Writing to a buffer does not fail.
	_, _ = enc.Write(b)
	_ = enc.Close()
	return buf.Bytes()
}

// accepted picks the encoding that an Accept-Encoding header asks for.
func accepted(header string) Encoding {
	for _, e := range []Encoding{Zstd, Brotli, Gzip} {
		for part := range strings.SplitSeq(header, ",") {
			name, _, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(name), string(e)) {
				return e
			}
		}
	}
	return Identity
}
