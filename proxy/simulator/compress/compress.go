// Package compress holds the encoders of simulated providers that the program itself never needs.
package compress

import (
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// encoder is what a simulator asks of one; an alias, so that the functions fit
// without knowing the simulator.
type encoder = interface {
	io.WriteCloser
	Flush() error
}

// Brotli returns an encoder of the content coding br in front of w.
func Brotli(w io.Writer) encoder { return brotli.NewWriterLevel(w, brotli.BestSpeed) }

// Zstd returns an encoder of the content coding zstd in front of w.
func Zstd(w io.Writer) encoder {
	// One goroutine's worth of work: nothing is left running when a stream is
	// broken off before Close.
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		panic("compress: " + err.Error()) // only wrong options fail
	}
	return z
}
