package exchange

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// What was left for the end of the answer reaches the client, whether the answer
// ends well, goes on after all, or is cut.
func TestLastBytesArrive(t *testing.T) {
	for _, c := range []struct {
		name  string
		end   func(*Response)
		want  string
		whole bool
	}{
		{"a good end", func(*Response) {}, "abc", true},
		{"more follows", func(o *Response) { o.Flush(); o.Write([]byte("d")) }, "abcd", true},
		{"a cut", func(o *Response) { o.Flush(); panic(http.ErrAbortHandler) }, "abc", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				o := NewResponse(w, time.Minute, func() bool { return false })
				defer o.Close()
				o.Head(http.StatusOK, func(http.Header) {})
				o.Write([]byte("a"))
				o.Last([]byte("bc"))
				c.end(o)
			}))
			defer server.Close()
			for range 2 { // the connection is used again
				res, err := server.Client().Get(server.URL)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if string(got) != c.want || (err == nil) != c.whole {
					t.Errorf("got %q, %v", got, err)
				}
			}
		})
	}
}
