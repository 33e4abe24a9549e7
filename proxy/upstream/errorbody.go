package upstream

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Bounds of the body of an answer that is no success: the status is the
// verdict, the body only refines it, and another connection may be waiting to
// serve the request meanwhile.
const (
	// MaxErrorBody is how many bytes of it are read at most.
	MaxErrorBody = 64 << 10
	errorSilence = 2 * time.Second // without a byte
	errorTotal   = 5 * time.Second // from the first read to the last
	errorChunk   = 4 << 10         // what most of them fit into
)

// ErrorBody reads the body of an answer that is no success as far as it is
// looked at: at most MaxErrorBody bytes, two seconds of silence and five seconds
// in all. It returns what has come by then, closes the body, and leaves a copy
// in its place, so that it may be called again.
func ErrorBody(res *http.Response) []byte {
	body := res.Body
	end := func() { interrupt(body) }
	silence, total := time.AfterFunc(errorSilence, end), time.AfterFunc(errorTotal, end)
	defer silence.Stop()
	defer total.Stop()
	var got []byte
	for len(got) < MaxErrorBody {
		got = slices.Grow(got, errorChunk)
		n, err := body.Read(got[len(got):min(cap(got), MaxErrorBody)])
		got = got[:len(got)+n]
		if err != nil {
			break // it is judged by what there is
		}
		if n > 0 {
			silence.Reset(errorSilence)
		}
	}
	_ = body.Close() // it was read or given up
	res.Body = inMemory(got)
	return got
}

// interrupter is a body with a decoder, which must not be closed while it is
// read; the connection below may be.
type interrupter interface{ interrupt() }

// interrupt makes a read that waits return.
func interrupt(body readCloser) {
	if b, ok := body.(interrupter); ok {
		b.interrupt()
		return
	}
	_ = body.Close()
}

func (d decoded) interrupt() { _ = d.raw.Close() }

func (s *sniffer) interrupt() { _ = s.raw.Close() }

// StatusError is an answer with a status that HTTP does not have: none from 200
// to 599. It counts as a broken answer, like a reset: nothing below 100 or above
// 999 can be passed on, and what remains means nothing to a client.
type StatusError int

// Error names the status.
func (e StatusError) Error() string { return "the answer has the status " + strconv.Itoa(int(e)) }

// hasStatus checks the status of a final answer; the transport has taken the
// informational ones out.
func hasStatus(res *http.Response) error {
	if res.StatusCode < http.StatusOK || res.StatusCode > 599 {
		return StatusError(res.StatusCode)
	}
	return nil
}
