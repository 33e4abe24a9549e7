package upstream

import (
	"bytes"
	"io"
	"net/http"
)

// The bytes with which compressed bodies begin. No JSON and no event stream
// begins like them.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// sniffer passes a body on that names no encoding, and decodes one that is
// compressed all the same. It looks at the first bytes as they come, so that
// nothing waits for it.
type sniffer struct {
	res *http.Response
	raw io.ReadCloser
	r   io.Reader // nil before the first bytes
}

// Read returns plain bytes.
func (s *sniffer) Read(p []byte) (int, error) {
	if s.r != nil {
		return s.r.Read(p)
	}
	n, err := s.raw.Read(p)
	if n == 0 {
		return n, err
	}
	s.r = s.raw
	if p[0] != gzipMagic[0] && p[0] != zstdMagic[0] {
		return n, err
	}
	if err := s.decode(append([]byte(nil), p[:n]...)); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

// decode chooses the reader for a body that begins with these bytes.
func (s *sniffer) decode(first []byte) error {
	for len(first) < len(zstdMagic) {
		var b [1]byte
		n, err := s.raw.Read(b[:])
		first = append(first, b[:n]...)
		if err != nil {
			break // what there is says all there is to say
		}
	}
	all := io.MultiReader(bytes.NewReader(first), s.raw)
	encoding := ""
	switch {
	case bytes.HasPrefix(first, gzipMagic):
		encoding = "gzip"
	case bytes.HasPrefix(first, zstdMagic):
		encoding = "zstd"
	default:
		s.r = all
		return nil
	}
	r, err := NewDecoder(encoding, all)
	if err != nil {
		return err
	}
	s.r = r
	s.res.Header.Del("Content-Length")
	s.res.ContentLength = -1
	return nil
}

// Close frees the decoder and the connection.
func (s *sniffer) Close() error {
	if c, ok := s.r.(io.Closer); ok && s.r != io.Reader(s.raw) {
		_ = c.Close() // it only frees buffers; the connection's error counts
	}
	return s.raw.Close()
}
