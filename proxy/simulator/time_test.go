package simulator

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/proxy/dialect"
)

// arrival is when, since the request, a line came.
type arrival struct {
	at   time.Duration
	line string
}

// arrivals sends a request and notes when the headers and each line came.
func arrivals(t *testing.T, c *http.Client, a *Account, q ask) (headers time.Duration, lines []arrival, err error) {
	t.Helper()
	begin := time.Now()
	resp, err := c.Do(q.request(t.Context(), a.BaseURL()))
	headers = time.Since(begin)
	if err != nil {
		return headers, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	r := bufio.NewReader(resp.Body)
	for {
		line, err := r.ReadString('\n')
		if line != "" {
			lines = append(lines, arrival{time.Since(begin), strings.TrimRight(line, "\r\n")})
		}
		if errors.Is(err, io.EOF) {
			return headers, lines, nil
		}
		if err != nil {
			return headers, lines, err
		}
	}
}

func first(lines []arrival, part string) time.Duration {
	for _, l := range lines {
		if strings.Contains(l.line, part) {
			return l.at
		}
	}
	return -1
}

func count(lines []arrival, part string) int {
	n := 0
	for _, l := range lines {
		if strings.Contains(l.line, part) {
			n++
		}
	}
	return n
}

func TestTime(t *testing.T) {
	anthropic := ask{dialect: dialect.Anthropic, stream: true}
	tests := []struct {
		name                   string
		ask                    ask
		step                   Step
		headers                time.Duration
		start, second, endTime time.Duration // message_start, the second delta, message_stop
	}{
		{"no waiting", anthropic, OK(), 0, 0, 0, 0},
		{"delay before the headers", anthropic, OK().Delayed(20 * time.Second), 20 * time.Second, 20 * time.Second, 20 * time.Second, 20 * time.Second},
		{"stall before the headers", anthropic, OK().StallAfter(BeforeHeaders, time.Second), time.Second, time.Second, time.Second, time.Second},
		{"stall at the start", anthropic, OK().StallAfter(AtStart, time.Second), 0, time.Second, time.Second, time.Second},
		{"stall after the preamble", anthropic, OK().StallAfter(AfterPreamble, time.Second), 0, 0, time.Second, time.Second},
		{"stall after one delta", anthropic, OK().StallAfter(1, time.Hour), 0, 0, time.Hour, time.Hour},
		{"stall before the end", anthropic, OK().StallAfter(AtEnd, time.Minute), 0, 0, 0, time.Minute},
		{"two stalls", anthropic, OK().StallAfter(1, time.Second).StallAfter(2, time.Minute), 0, 0, time.Second, 61 * time.Second},
		{"trickle", anthropic, OK().Paced(time.Second), 0, 0, 2 * time.Second, 6 * time.Second},
		{"keep-alive", anthropic, OK().KeepAliveAt(1, "ping", 10*time.Second, 3), 0, 0, 30 * time.Second, 30 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, c := startInBubble(t)
				alpha := s.Account("alpha").Script(tt.step)
				headers, lines, err := arrivals(t, c, alpha, tt.ask)
				if err != nil || headers != tt.headers {
					t.Errorf("headers after %v, %v", headers, err)
				}
				for part, want := range map[string]time.Duration{"message_start": tt.start, "from ": tt.second, "message_stop": tt.endTime} {
					if got := first(lines, part); got != want {
						t.Errorf("%s after %v, want %v", part, got, want)
					}
				}
			})
		})
	}
}

func TestSlowDocumentIsLateAsAWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := startInBubble(t)
		alpha := s.Account("alpha").Script(OK().Paced(time.Second))
		headers, _, err := arrivals(t, c, alpha, ask{dialect: dialect.Chat})
		if err != nil || headers != 6*time.Second {
			t.Errorf("headers after %v, %v", headers, err)
		}
	})
}

func TestPaceOfChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := startInBubble(t)
		alpha := s.Account("alpha").Script(Raw("", "a\nb\nc\n").InChunks(2).Paced(time.Second))
		_, lines, err := arrivals(t, c, alpha, ask{dialect: dialect.Chat, stream: true})
		if err != nil || first(lines, "a") != time.Second || first(lines, "c") != 3*time.Second {
			t.Errorf("%v %v", lines, err)
		}
	})
}

func TestFormsOfKeepAlive(t *testing.T) {
	tests := []struct {
		form string
		d    dialect.Dialect
		line string
	}{
		{"ping", dialect.Anthropic, `data: {"type":"ping"}`},
		{"comment", dialect.Chat, ": keep-alive"},
		{"event", dialect.Responses, "event: keepalive"},
		{"data", dialect.Responses, `data: {"type":"keepalive"}`},
		{"in_progress", dialect.Responses, "event: response.in_progress"},
		{"in_progress", dialect.Chat, ": keep-alive"},
		{"empty_chunk", dialect.Chat, `"delta":{},"logprobs":null,"finish_reason":null`},
		{"empty_chunk", dialect.Anthropic, ": keep-alive"},
	}
	for _, tt := range tests {
		t.Run(tt.form+" "+string(tt.d.Traits().Name), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, c := startInBubble(t)
				alpha := s.Account("alpha").Script(OK().KeepAliveAt(AtStart, tt.form, time.Second, 5), OK())
				_, with, err := arrivals(t, c, alpha, ask{dialect: tt.d, stream: true})
				if err != nil {
					t.Fatal(err)
				}
				_, without, err := arrivals(t, c, alpha, ask{dialect: tt.d, stream: true})
				if n := count(with, tt.line) - count(without, tt.line); n != 5 || err != nil {
					t.Errorf("%d signs of life: %v, %v", n, with, err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s, c := startInBubble(t)
		alpha := s.Account("alpha").Script(OK().KeepAliveAt(AtStart, "blank", time.Second, 3))
		_, lines, err := arrivals(t, c, alpha, ask{dialect: dialect.Anthropic, stream: true})
		if err != nil || len(lines) < 3 || lines[2].line != "" || lines[2].at != 3*time.Second {
			t.Errorf("blank lines: %v, %v", lines, err)
		}
	})
}

// Case P21: the client's leaving is noticed at once, in every kind of wait.
func TestClientLeaving(t *testing.T) {
	steps := map[string]Step{
		"before the headers":     OK().StallAfter(BeforeHeaders, Forever),
		"after a delta":          OK().StallAfter(1, Forever),
		"in a trickle":           OK().Paced(time.Minute),
		"in a hold":              OK().HoldAfter(0, nil),
		"case P32 between pings": OK().KeepAliveAt(0, "ping", 10*time.Second, Forever),
	}
	for name, st := range steps {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, c := startInBubble(t)
				alpha := s.Account("alpha").Script(st)
				ctx, cancel := context.WithCancel(t.Context())
				begin := time.Now()
				time.AfterFunc(95*time.Second, cancel)
				resp, err := c.Do(ask{dialect: dialect.Anthropic, stream: true}.request(ctx, alpha.BaseURL()))
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
				if !errors.Is(err, context.Canceled) {
					t.Fatalf("the client saw %v", err)
				}
				synctest.Wait()
				rs := alpha.Requests()
				if got := rs[0].CancelledAt.Sub(begin); got != 95*time.Second {
					t.Errorf("cancelled after %v", got)
				}
				if rs[0].DoneAt.IsZero() {
					t.Error("the answer goes on")
				}
				if n := alpha.Counters(); n.Cancelled != 1 || n.InFlight != 0 || n.OK+n.Failed != 0 {
					t.Errorf("counters %+v", n)
				}
			})
		})
	}
}

func TestCloseEndsEveryWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := startInBubble(t)
		alpha := s.Account("alpha").Script(OK().StallAfter(1, Forever))
		done := make(chan error)
		go func() { done <- ask{dialect: dialect.Chat, stream: true}.send(t, c, alpha).err }()
		synctest.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; err == nil {
			t.Error("the stream ended as if it were whole")
		}
		if n := alpha.Counters().InFlight; n != 0 {
			t.Errorf("%d in flight", n)
		}
	})
}
