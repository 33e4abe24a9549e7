package cases

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/upstream"
	"breakwater/tests/scenario"
)

// sleeper is an upstream with a machine that can be put to sleep.
type sleeper struct {
	*scenario.Kit
	slept    atomic.Int64 // nanoseconds
	requests atomic.Int32
	conns    atomic.Int32
}

// startSleeper runs a product whose one upstream answers with handle, which is
// told the number of the request.
func startSleeper(t *testing.T, handle func(s *sleeper, n int32, w http.ResponseWriter)) *sleeper {
	t.Helper()
	s := &sleeper{}
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		handle(s, s.requests.Add(1), w)
	}))
	up.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			s.conns.Add(1)
		}
	}
	up.Start()
	t.Cleanup(up.Close)
	s.Kit = scenario.StartBehind(t, upstream.Options{Ahead: func() time.Duration { return time.Duration(s.slept.Load()) }})
	s.Add("alpha", "demo", func(in *control.ConnectionInput) { in.BaseURL = up.URL + "/v1" })
	return s
}

// sleep puts the machine to sleep: the wall clock goes on alone.
func (s *sleeper) sleep() { s.slept.Add(int64(10 * time.Minute)) }

// blameless fails the test if anything was held against the connection.
func (s *sleeper) blameless() {
	s.Helper()
	if c, b := s.Connection("alpha"), s.Breaker("demo"); c.State != "serving" || c.Failed != 0 || b.FailureCount != 0 {
		s.Errorf("alpha is %s, failed %d, breaker %d", c.State, c.Failed, b.FailureCount)
	}
}

const wholeStream = "event: message_start\ndata: " + messageStart + "\n\nevent: content_block_start\ndata: " + blockStart + "\n\n" +
	"event: content_block_delta\ndata: " + textDelta + "\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

func sendStream(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
}

// Case P55: what was under way when the machine fell asleep is asked again once,
// or cut, and held against nobody; idle connections are not used any more.
func TestMachineSleeps(t *testing.T) {
	for name, before := range map[string]string{"before an answer": "", "after the preamble": "event: message_start\ndata: " + messageStart + "\n\n"} {
		t.Run("case P55 asleep "+name, func(t *testing.T) {
			s := startSleeper(t, func(s *sleeper, n int32, w http.ResponseWriter) {
				if n > 1 {
					sendStream(w, wholeStream)
					return
				}
				if before != "" {
					sendStream(w, before)
				}
				s.sleep()
				panic(http.ErrAbortHandler)
			})
			a := s.Post("/v1/messages", scenario.Messages)
			if a.Status != 200 || a.Err != nil || a.Body != wholeStream || s.requests.Load() != 2 {
				t.Errorf("%d, %v after %d requests: %s", a.Status, a.Err, s.requests.Load(), a.Body)
			}
			s.blameless()
		})
	}
	t.Run("case P55 a connection that stays broken is asked once more only", func(t *testing.T) {
		s := startSleeper(t, func(s *sleeper, _ int32, _ http.ResponseWriter) {
			s.sleep()
			panic(http.ErrAbortHandler)
		})
		if a := s.Post("/v1/messages", scenario.Messages); a.Status < 500 || s.requests.Load() != 2 {
			t.Errorf("%d after %d requests: %s", a.Status, s.requests.Load(), a.Body)
		}
	})
	t.Run("case P55 asleep after output", func(t *testing.T) {
		s := startSleeper(t, func(s *sleeper, _ int32, w http.ResponseWriter) {
			sendStream(w, wholeStream[:strings.Index(wholeStream, "event: message_stop")])
			s.sleep()
			panic(http.ErrAbortHandler)
		})
		if a := s.Post("/v1/messages", scenario.Messages); a.Status != 200 || a.Err == nil || s.requests.Load() != 1 {
			t.Errorf("%d, %v after %d requests: %s", a.Status, a.Err, s.requests.Load(), a.Body)
		}
		if got := s.Last().Result; got != "truncated" {
			t.Errorf("the log says %s", got)
		}
		s.blameless()
	})
	t.Run("case P55 idle connections", func(t *testing.T) {
		s := startSleeper(t, func(_ *sleeper, _ int32, w http.ResponseWriter) { sendStream(w, wholeStream) })
		for i, want := range []int32{1, 1, 2, 2} {
			if i == 2 {
				s.sleep()
			}
			if a := s.Post("/v1/messages", scenario.Messages); a.Status != 200 || a.Err != nil {
				t.Fatal(fmt.Sprint(a.Status, a.Err))
			}
			if n := s.conns.Load(); n != want {
				t.Errorf("request %d: %d connections, want %d", i+1, n, want)
			}
		}
	})
	t.Run("without a sleep the failure counts", func(t *testing.T) {
		s := startSleeper(t, func(*sleeper, int32, http.ResponseWriter) { panic(http.ErrAbortHandler) })
		s.Post("/v1/messages", scenario.Messages)
		if n := s.Breaker("demo").FailureCount; n != 1 || s.requests.Load() != 1 {
			t.Errorf("%d failures after %d requests", n, s.requests.Load())
		}
	})
}
