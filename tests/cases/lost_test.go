package cases

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/upstream"
	"breakwater/tests/scenario"
)

// loser is an upstream that loses connections: it takes a request and closes its
// connection without a byte of an answer.
type loser struct {
	*httptest.Server
	taken    atomic.Int32 // requests that arrived
	lose     atomic.Bool
	reset    atomic.Bool
	after    time.Duration
	everyone atomic.Bool // loses fresh connections, too
}

func newLoser(t *testing.T) *loser {
	t.Helper()
	l := &loser{}
	var first atomic.Pointer[string] // the connection that may be lost
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		l.taken.Add(1)
		first.CompareAndSwap(nil, &r.RemoteAddr)
		if !l.lose.Load() || !l.everyone.Load() && *first.Load() != r.RemoteAddr {
			sendStream(w, wholeStream)
			return
		}
		if l.after > 0 {
			<-time.After(l.after)
		}
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		if tcp, ok := c.(*net.TCPConn); ok && l.reset.Load() {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}))
	t.Cleanup(l.Close)
	return l
}

// Ruling 67: a request whose reused connection was lost goes out once more to
// the same target and nothing is held against it; any other loss is a failure,
// after which the next target is asked and never the same one.
func TestLostReusedConnection(t *testing.T) {
	type test struct {
		name     string
		idle     time.Duration
		fresh    bool
		after    time.Duration
		repeated bool
	}
	tests := []test{
		{name: "ruling 67 idle for a second", idle: time.Second, repeated: true},
		{name: "ruling 67 idle for a minute", idle: time.Minute, repeated: true},
		{name: "ruling 67 lost within five seconds", idle: time.Minute, after: 100 * time.Millisecond, repeated: true},
		{name: "idle under a second", idle: 900 * time.Millisecond},
		{name: "not idle", idle: 0},
		{name: "a fresh connection", idle: time.Hour, fresh: true},
	}
	if os.Getenv("BREAKWATER_LOST_POSTS") != "" { // it takes five seconds
		tests = append(tests, test{name: "over five seconds after the last byte", idle: time.Hour, after: 5200 * time.Millisecond})
	}
	for _, c := range tests {
		for _, how := range []string{"closed", "reset"} {
			t.Run(c.name+", "+how, func(t *testing.T) {
				alpha, beta := newLoser(t), newLoser(t)
				alpha.after = c.after
				k := scenario.StartBehind(t, upstream.Options{Idle: func(time.Duration) time.Duration { return c.idle }})
				k.Add("alpha", "demo", func(in *control.ConnectionInput) { in.BaseURL = alpha.URL + "/v1" })
				k.Add("beta", "demo", func(in *control.ConnectionInput) { in.BaseURL = beta.URL + "/v1" })
				if !c.fresh {
					if a := k.Post("/v1/messages", scenario.Messages); a.Status != 200 {
						t.Fatalf("%d: %s", a.Status, a.Body)
					}
				}
				before := alpha.taken.Load()
				alpha.reset.Store(how == "reset")
				alpha.everyone.Store(c.fresh)
				alpha.lose.Store(true)
				a := k.Post("/v1/messages", scenario.Messages)
				if a.Status != 200 || a.Err != nil || a.Body != wholeStream {
					t.Errorf("%d, %v: %s", a.Status, a.Err, a.Body)
				}
				var steps []control.StepKind
				row := k.Last()
				for _, s := range row.Trace {
					steps = append(steps, s.Kind)
				}
				sent, conn := alpha.taken.Load()-before, k.Connection("alpha")
				if c.repeated {
					if sent != 2 || beta.taken.Load() != 0 || conn.Failed != 0 || conn.State != "serving" || row.FailedOver {
						t.Errorf("sent %d times and %d to the other; alpha is %s, failed %d", sent, beta.taken.Load(), conn.State, conn.Failed)
					}
					if len(row.Trace) != 2 || row.Trace[0].Kind != control.StepRepeated || row.Trace[0].Reason != "connection_lost" {
						t.Errorf("the trace says %v", row.Trace)
					}
					return
				}
				if sent != 1 || beta.taken.Load() != 1 || conn.Failed != 1 {
					t.Errorf("sent %d times and %d to the other; alpha failed %d: %v", sent, beta.taken.Load(), conn.Failed, steps)
				}
			})
		}
	}
	t.Run("the repeat is lost as well", func(t *testing.T) {
		alpha, beta := newLoser(t), newLoser(t)
		k := scenario.StartBehind(t, upstream.Options{Idle: func(time.Duration) time.Duration { return time.Hour }})
		k.Add("alpha", "demo", func(in *control.ConnectionInput) { in.BaseURL = alpha.URL + "/v1" })
		k.Add("beta", "demo", func(in *control.ConnectionInput) { in.BaseURL = beta.URL + "/v1" })
		k.Post("/v1/messages", scenario.Messages)
		alpha.everyone.Store(true)
		alpha.lose.Store(true)
		if a := k.Post("/v1/messages", scenario.Messages); a.Status != 200 || alpha.taken.Load() != 3 || beta.taken.Load() != 1 {
			t.Errorf("%d; alpha was asked %d times, beta %d times", a.Status, alpha.taken.Load(), beta.taken.Load())
		}
	})
}
