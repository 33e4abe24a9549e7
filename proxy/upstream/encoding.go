package upstream

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

type readCloser = io.ReadCloser

// ErrTooLarge is returned when a decoded body passes its limit.
var ErrTooLarge = errors.New("the decoded body is too large")

// ErrEncoding is returned for a content encoding nobody can read.
var ErrEncoding = errors.New("unknown content encoding")

// decode replaces the body of an answer that is compressed although identity
// was asked for, and makes the headers agree (cases P35, P36).
func decode(res *http.Response) error {
	encoding := strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Encoding")))
	if encoding == "" || encoding == "identity" {
		res.Body = &sniffer{res: res, raw: res.Body}
		return nil
	}
	r, err := NewDecoder(encoding, res.Body)
	switch {
	case err != nil && res.StatusCode >= http.StatusMultipleChoices:
		r = bytes.NewReader(nil) // the status is the verdict
	case err != nil:
		return fmt.Errorf("answer encoding: %w", err)
	}
	res.Body = decoded{Reader: r, raw: res.Body}
	res.Header.Del("Content-Encoding")
	res.Header.Del("Content-Length")
	res.ContentLength = -1
	return nil
}

type decoded struct {
	io.Reader
	raw io.Closer
}

// Close frees the decoder and the connection.
func (d decoded) Close() error {
	if c, ok := d.Reader.(io.Closer); ok {
		_ = c.Close() // it only frees buffers; the connection's error counts
	}
	return d.raw.Close()
}

// NewDecoder returns a reader of the plain bytes behind a content encoding:
// gzip, deflate, br, zstd, or several in the order in which they were applied.
func NewDecoder(encoding string, r io.Reader) (io.Reader, error) {
	names := strings.Split(encoding, ",")
	for _, name := range slices.Backward(names) {
		var err error
		switch name := strings.ToLower(strings.TrimSpace(name)); name {
		case "", "identity":
		case "gzip", "x-gzip":
			r = &lazyGzip{src: r}
		case "deflate":
			r = &lazyDeflate{src: r}
		case "br":
			r = brotli.NewReader(r)
		case "zstd":
			r, err = zstdReader(r)
		default:
			return nil, fmt.Errorf("%w: %q", ErrEncoding, name)
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// lazyGzip reads the gzip header at the first read only, so that a stream that
// has not begun yet does not block the answer's headers.
type lazyGzip struct {
	src io.Reader
	gz  *gzip.Reader
}

// Read returns decoded bytes as they come.
func (l *lazyGzip) Read(p []byte) (int, error) {
	if l.gz == nil {
		gz, err := gzip.NewReader(l.src)
		if err != nil {
			return 0, err
		}
		l.gz = gz
	}
	return l.gz.Read(p)
}

type zstdDecoder struct{ *zstd.Decoder }

// Close frees the decoder.
func (z zstdDecoder) Close() error { z.Decoder.Close(); return nil }

// maxWindow bounds the memory of one zstd stream.
const maxWindow = 32 << 20

func zstdReader(r io.Reader) (io.Reader, error) {
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	return zstdDecoder{d}, nil
}

// DecodeAll returns the plain bytes of a whole encoded body. It stops with
// ErrTooLarge as soon as they pass limit, so that a small body cannot inflate
// without bounds (case P37).
func DecodeAll(encoding string, raw []byte, limit int64) ([]byte, error) {
	r, err := NewDecoder(encoding, bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	if c, ok := r.(io.Closer); ok {
		defer func() { _ = c.Close() }() // frees buffers only
	}
	out, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(out)) > limit {
		return nil, ErrTooLarge
	}
	return out, nil
}
