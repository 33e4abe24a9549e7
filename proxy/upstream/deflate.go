package upstream

import (
	"bufio"
	"compress/flate"
	"compress/zlib"
	"io"
)

// lazyDeflate reads what is called deflate: in a zlib envelope, as the standard
// has it, or bare, as some servers send it. Which of the two is seen at the first
// read only, so that a stream that has not begun yet does not block the answer's
// headers.
type lazyDeflate struct {
	src   io.Reader
	plain io.ReadCloser
}

// Read returns decoded bytes as they come.
func (l *lazyDeflate) Read(p []byte) (int, error) {
	if l.plain == nil {
		src := bufio.NewReader(l.src)
		head, _ := src.Peek(storedHead) // what is missing is missed by the decoder
		if !isZlib(head) {
			l.plain = flate.NewReader(src)
		} else {
			z, err := zlib.NewReader(src)
			if err != nil {
				return 0, err
			}
			l.plain = z
		}
	}
	return l.plain.Read(p)
}

// storedHead is the length of the head of a bare stored block, which a zlib
// envelope can be mistaken for.
const storedHead = 5

// isZlib reports whether the bytes begin a zlib envelope (RFC 1950 §2.2): the
// method is deflate, the window is allowed, and the check bits are right. A bare
// stored block may look alike, but repeats its length inverted.
func isZlib(head []byte) bool {
	if len(head) < 2 || head[0]&0x0f != 8 || head[0]>>4 > 7 || (int(head[0])<<8|int(head[1]))%31 != 0 {
		return false
	}
	stored := len(head) >= storedHead && head[1] == ^head[3] && head[2] == ^head[4]
	return !stored
}
