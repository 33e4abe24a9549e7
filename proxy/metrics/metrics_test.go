package metrics

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/resilience/outcome"
)

type source struct {
	snap control.Snapshot
	err  error
}

func (s source) Snapshot(context.Context) (control.Snapshot, error) { return s.snap, s.err }
func (s source) Lost() int64                                        { return 7 }

func read(t *testing.T, m *Meter, s source) string {
	t.Helper()
	w := httptest.NewRecorder()
	Handler(m, s).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	if w.Code != 200 || w.Header().Get("Content-Type") != ContentType {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	body, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestEveryFigureIsThere(t *testing.T) {
	m := NewMeter()
	for _, d := range []time.Duration{-time.Millisecond, 40 * time.Millisecond, 50 * time.Millisecond, time.Second, 10 * time.Minute} {
		m.Request("anthropic", "answered", d)
	}
	m.Request("chat", "refused", -1)
	m.Attempt("openai", outcome.Failure)
	m.Attempt("openai", outcome.Success)
	m.Attempt("openai", outcome.Neutral)
	end := m.Stream()
	m.Stream()()
	until := time.Now().Add(time.Minute)
	got := read(t, m, source{snap: control.Snapshot{
		Version:  "1.2.3",
		Breakers: []control.Breaker{{Provider: "openai", State: "OPEN"}},
		Connections: []control.Connection{
			{Name: `a "quoted\name"`, State: control.StateCooling, RateLimitedUntil: &until, Queued: 3, InFlight: 2},
			{Name: "b", State: control.StateServing, LeasedUntil: &until, Lockouts: []control.Lockout{{Model: "m"}, {Model: "n"}}},
		},
	}})
	for _, want := range []string{
		`breakwater_requests_total{dialect="anthropic",result="answered"} 5`,
		`breakwater_requests_total{dialect="chat",result="refused"} 1`,
		`breakwater_attempts_total{provider="openai",class="failure"} 1`,
		`breakwater_attempts_total{provider="openai",class="neutral"} 1`,
		`breakwater_attempts_total{provider="openai",class="success"} 1`,
		`breakwater_first_output_seconds_bucket{le="0.05"} 2`,
		`breakwater_first_output_seconds_bucket{le="1"} 3`,
		`breakwater_first_output_seconds_bucket{le="120"} 3`,
		`breakwater_first_output_seconds_bucket{le="+Inf"} 4`,
		`breakwater_first_output_seconds_sum 601.09`,
		`breakwater_first_output_seconds_count 4`,
		`breakwater_streams_active 1`,
		`breakwater_build_info{version="1.2.3"} 1`,
		`breakwater_breaker_state{provider="openai",state="OPEN"} 1`,
		`breakwater_breaker_state{provider="openai",state="CLOSED"} 0`,
		`breakwater_connections{state="cooling"} 1`,
		`breakwater_cooldowns_active 1`,
		`breakwater_lockouts_active 2`,
		`breakwater_leases_active 1`,
		`breakwater_requests_in_flight 2`,
		`breakwater_queue_depth{connection="a \"quoted\\name\""} 3`,
		`breakwater_activity_rows_lost_total 7`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("lacks %s in\n%s", want, got)
		}
	}
	end()
	if !strings.Contains(read(t, m, source{}), "breakwater_streams_active 0\n") {
		t.Error("a stream that has ended is counted")
	}
}

// Each line is a comment or a sample of a family that was announced, once.
func TestThePageIsWellFormed(t *testing.T) {
	m := NewMeter()
	m.Request("a\nb", `c\d"e`, 0)
	m.Attempt("p", outcome.Success)
	sample := regexp.MustCompile(`^([a-z_]+?)(_bucket|_sum|_count)?(\{[a-z]+="(?:[^"\\\n]|\\["\\n])*"(,[a-z]+="(?:[^"\\\n]|\\["\\n])*")*\})? (\S+)$`)
	families := map[string]bool{}
	for line := range strings.SplitSeq(strings.TrimSuffix(read(t, m, source{}), "\n"), "\n") {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, _, _ = strings.Cut(name, " ")
			if families[name] {
				t.Errorf("%s is announced twice", name)
			}
			families[name] = true
			continue
		}
		if strings.HasPrefix(line, "# HELP ") {
			continue
		}
		got := sample.FindStringSubmatch(line)
		if got == nil || !families[got[1]] && !families[got[1]+got[2]] {
			t.Errorf("line %q", line)
		}
	}
}

func TestAStateThatCannotBeReadIsSaid(t *testing.T) {
	w := httptest.NewRecorder()
	Handler(NewMeter(), source{err: errors.New("secret detail")}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	if w.Code != 503 || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestTheMeterCountsFromManyGoroutines(t *testing.T) {
	m := NewMeter()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				m.Request("chat", "answered", time.Second)
				m.Attempt("p", outcome.Success)
				m.Stream()()
			}
		})
	}
	all.Wait()
	if got := read(t, m, source{}); !strings.Contains(got, `result="answered"} 800`) || !strings.Contains(got, `class="success"} 800`) {
		t.Error(got)
	}
}
