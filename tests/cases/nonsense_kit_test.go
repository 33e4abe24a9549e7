package cases

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// nonsense is an upstream on a bare socket. It answers for its model list as it
// should, and with nonsense otherwise.
type nonsense struct {
	l      net.Listener
	says   string       // to everything but the model list, in place of nonsense
	open   atomic.Int64 // connections
	spoken atomic.Int64 // answers
}

func newNonsense(t *testing.T) *nonsense {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &nonsense{l: l}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n.open.Add(1)
			go n.serve(c)
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	return n
}

func (n *nonsense) url() string { return "http://" + n.l.Addr().String() + "/v1" }

// goroutines is how many of its own remain when no connection is open.
func (n *nonsense) goroutines() int { return 1 }

// awaitClosed waits until no connection is open and returns how many still are.
func (n *nonsense) awaitClosed(within time.Duration) int64 {
	for deadline := time.Now().Add(within); n.open.Load() > 0 && time.Now().Before(deadline); {
		<-time.After(10 * time.Millisecond)
	}
	return n.open.Load()
}

func (n *nonsense) serve(c net.Conn) {
	defer n.open.Add(-1)
	defer func() { _ = c.Close() }()
	in := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		if req.Method == http.MethodGet {
			if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{\"data\":[]}"); err != nil {
				return
			}
			continue
		}
		id := uint64(n.spoken.Add(1))
		if n.says != "" {
			_, _ = io.WriteString(c, n.says) // it may have gone
			return
		}
		r := rand.New(rand.NewPCG(id, 15))
		raw, stalls := answerOf(r)
		whole := complete(raw, req)
		if strings.HasPrefix(raw, "HTTP/1.1 1") {
			stalls = false // what follows may be whole
		}
		if stalls = stalls && !whole; stalls && r.IntN(2) == 0 {
			n.drip(c, raw)
			return
		}
		if _, err := io.WriteString(c, raw); err != nil {
			return
		}
		if stalls {
			_, _ = io.Copy(io.Discard, in) // until the other side gives up
		}
		if stalls || !whole || r.IntN(3) > 0 {
			return
		}
	}
}

// complete reports whether an answer ends by itself: a connection that stayed
// open behind any other would leave even its head unfinished, and one that fell
// silent behind a whole answer would be taken for an idle one.
func complete(raw string, req *http.Request) bool {
	res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(raw)), req)
	if err != nil || res.StatusCode < 200 || res.ContentLength < 0 && len(res.TransferEncoding) == 0 {
		return false
	}
	_, err = io.Copy(io.Discard, res.Body)
	return err == nil && res.Body.Close() == nil
}

// drip sends the head and then the body, a byte each half second.
func (n *nonsense) drip(c net.Conn, raw string) {
	at := strings.LastIndex(raw, "\r\n\r\n")
	if at < 0 {
		at = len(raw)
	}
	if _, err := io.WriteString(c, raw[:min(at+4, len(raw))]); err != nil {
		return
	}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		<-tick.C
		if _, err := io.WriteString(c, " "); err != nil {
			return
		}
	}
}

// packed is the text in that encoding, or as it is where there is none such.
func packed(encoding, text string) string {
	var b bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return text
		}
		w = z
	default:
		return text
	}
	_, _ = io.WriteString(w, text) // into memory
	_ = w.Close()
	return b.String()
}
