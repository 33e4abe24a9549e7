package exchange

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/proxy/attempt"
	"breakwater/proxy/dialect"
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

// A client that waits for a stream gets its head and heartbeats after a while;
// an answer then follows without another head, an error as an event or a cut
// (rulings 44, 45).
func TestAClientIsHeld(t *testing.T) {
	cut := dialect.ProfileOf(func(name string) string {
		if name == "X-Claude-Code-Session-Id" {
			return "s"
		}
		return ""
	})
	for _, tt := range []struct {
		name    string
		profile dialect.Profile
		script  script
		beats   bool
		end     string // of the body
		abort   bool
	}{
		{"answered at once", dialect.DefaultProfile(), answers, false, answerText, false},
		{"answered late", dialect.DefaultProfile(), slowly(30*time.Second, answers), true, answerText, false},
		{"refused late", dialect.DefaultProfile(), slowly(30*time.Second, limited(time.Hour)), true, "\n\n", true},
		{"refused late, to a client that prefers a cut", cut, slowly(30*time.Second, limited(time.Hour)), true, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newRig("a")
				k.Limits.Heartbeat, k.Limits.Hold = 5*time.Second, 7*time.Second
				k.on("a", tt.script)
				w, row := k.ask(t, `{"stream":true,`+messages[1:], func(r *Request) { r.Profile = tt.profile })
				beats := strings.Count(w.body.String(), string(tt.profile.Heartbeat))
				if (beats > 0) != tt.beats || !strings.HasSuffix(w.body.String(), tt.end) || w.abort != tt.abort || w.heads != 1 {
					t.Errorf("%d beats, %d heads, abort %v, %q", beats, w.heads, w.abort, w.body.String())
				}
				if tt.beats != (w.header.Get("Content-Type") == "text/event-stream") || (row.FirstOutputMs < 0) != tt.abort {
					t.Errorf("%v, first token after %d ms", w.header, row.FirstOutputMs)
				}
				k.idle(t)
			})
		})
	}
}

// A write that fails ends the answer, and nothing is written after it.
func TestAFailedWrite(t *testing.T) {
	w := &reply{header: http.Header{}, gone: func() bool { return true }}
	o := NewResponse(w, time.Minute, w.gone)
	o.Head(http.StatusOK, func(http.Header) {})
	o.Head(http.StatusTeapot, func(http.Header) { t.Error("a second head") })
	if o.Write([]byte("a")) || o.Last([]byte("b")) || w.late != 1 || w.heads != 1 || !o.Gone() {
		t.Errorf("%d bytes, %d heads", w.late, w.heads)
	}
}

// What an attempt kept goes to the client when no other target follows
// (case 176).
func TestAKeptBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRig("a", "b")
		k.on("a", keeps)
		k.on("b", keeps)
		w, row := k.ask(t, messages)
		if row.Result != resultTruncated || kinds(row) != "failed:a failed:b" || w.body.String() != "beginning" || !w.abort || row.ConnectionID != "b" {
			t.Errorf("%s %s by %s: %q", row.Result, kinds(row), row.ConnectionID, w.body.String())
		}
		ctx, leave := context.WithCancel(t.Context())
		k.on("b", func(ctx context.Context, to attempt.Target, c attempt.Client) attempt.Result {
			leave()
			return keeps(ctx, to, c)
		})
		k.serve(ctx, request(t, messages, header(HeaderPin, "b")))
		if row := k.row(t); row.Status != 499 {
			t.Errorf("a client that left: %d %s", row.Status, kinds(row))
		}
	})
}
