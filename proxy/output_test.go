package proxy

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
		end   func(*output)
		want  string
		whole bool
	}{
		{"a good end", func(*output) {}, "abc", true},
		{"more follows", func(o *output) { o.flush(); o.write([]byte("d")) }, "abcd", true},
		{"a cut", (*output).cut, "abc", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				o := newOutput(w, time.Minute)
				defer o.close()
				o.head(http.StatusOK, func(http.Header) {})
				o.write([]byte("a"))
				o.last([]byte("bc"))
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
