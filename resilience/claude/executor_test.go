package claude

import (
	"testing"
	"time"
)

// play runs a script against one request: it returns whether each attempt
// carried the header, and the last decision.
func play(r *Request, now time.Time, resets func() bool, script ...headers) (slow []bool, last Decision) {
	for _, h := range script {
		_, _, send := r.Header(now)
		slow = append(slow, send)
		code := 200
		if v := h[":status"]; v != nil {
			code = map[string]int{"400": 400, "401": 401, "429": 429, "529": 529}[v[0]]
		}
		last = r.Answer(now, code, h)
		if last.Action == AskReset {
			last = r.AfterReset(now, resets())
		}
		now = now.Add(last.Delay)
	}
	return slow, last
}

func answers(code string, h headers) headers { return with(h, ":status", code) }

var (
	ok200   = says()
	wall429 = answers("429", wall())
)

func same(a []bool, b ...bool) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestAttempts holds the rows of the executor table (sheet §7.2) as far as
// they can be decided without HTTP.
func TestAttempts(t *testing.T) {
	t.Run("X1 accepted once, slow from then on", func(t *testing.T) {
		b := newBench(t)
		if slow, last := play(b.open(t0, lowOn), t0, nil, wall429, ok200); !same(slow, false, true) || last != nothing {
			t.Errorf("slow %v, %+v", slow, last)
		}
		if slow, _ := play(b.open(t0, lowOn), t0, nil, ok200); !same(slow, true) {
			t.Errorf("slow %v", slow)
		}
		name, value, _ := b.open(t0, lowOn).Header(t0)
		if name != "anthropic-usage-limit" || value != "slow" {
			t.Errorf("%s: %s", name, value)
		}
	})
	for id, c := range map[string]struct {
		sw Switches
		h  headers
	}{"X2 not opted in": {bothOff, wall429}, "X3 control arm": {lowOn, answers("429", wall("slow-offer", "control"))}} {
		t.Run(id, func(t *testing.T) {
			if slow, last := play(newBench(t).open(t0, c.sw), t0, nil, c.h); !same(slow, false) || last.Intercepted() {
				t.Errorf("slow %v, %+v", slow, last)
			}
		})
	}
	t.Run("X4 another connection", func(t *testing.T) {
		b := newBench(t)
		first, _ := play(b.open(t0, lowOn), t0, nil, wall429, ok200)
		other, _ := play(b.lanes.Open(Key{Connection: "c2"}, lowOn, t0, 0), t0, nil, ok200)
		again, _ := play(b.open(t0, lowOn), t0, nil, ok200)
		if !same(first, false, true) || !same(other, false) || !same(again, true) {
			t.Errorf("slow %v %v %v", first, other, again)
		}
	})
	t.Run("X5 a repaired request meets the wall", func(t *testing.T) {
		slow, last := play(newBench(t).open(t0, lowOn), t0, nil, answers("400", says()), wall429, ok200)
		if !same(slow, false, false, true) || last != nothing {
			t.Errorf("slow %v, %+v", slow, last)
		}
	})
	t.Run("X6 the limit is reset", func(t *testing.T) {
		asked := 0
		slow, last := play(newBench(t).open(t0, bothOn), t0, func() bool { asked++; return true }, wall429, ok200)
		if !same(slow, false, false) || last != nothing || asked != 1 {
			t.Errorf("slow %v, %+v, asked %d times", slow, last, asked)
		}
	})
	oauth := Call{Provider: "claude", Bearer: "sk-ant-oat01-x"}
	for id, edit := range map[string]func(*Call){
		"X7 count_tokens":                   func(c *Call) { c.CountTokens = true },
		"X8 an API key on the connection":   func(c *Call) { c.APIKey = true },
		"X8 an API key as bearer":           func(c *Call) { c.Bearer = "sk-ant-api03-x" },
		"X8 another provider":               func(c *Call) { c.Provider = "anthropic" },
		"X17 the target after a fallback":   func(c *Call) { c.Provider, c.Bearer = "glm", "own" },
		"a client that drives its own lane": func(c *Call) { c.OwnLane = true },
	} {
		t.Run(id, func(t *testing.T) {
			c := oauth
			if !c.Applies() {
				t.Fatal("a subscription's request is none of our business")
			}
			if edit(&c); c.Applies() {
				t.Errorf("%+v is", c)
			}
		})
	}
	t.Run("X9 a combo's member", func(t *testing.T) {
		// Nothing about the combo comes in, so nothing of it can hold the lane up.
		if slow, _ := play(newBench(t).open(t0, lowOn), t0, nil, wall429, ok200); !same(slow, false, true) {
			t.Errorf("slow %v", slow)
		}
	})
	t.Run("X10 a client that leaves while waiting holds nothing", func(t *testing.T) {
		b := newBench(t)
		_, last := play(b.open(t0, lowOn), t0, nil, wall429, answers("429", says("slow-status", "slot_busy")))
		if last.Delay != 20*time.Second {
			t.Fatalf("%+v", last)
		}
		if slow, last := play(b.open(at(time.Second), lowOn), at(time.Second), nil, says("slow-status", "active")); !same(slow, true) || last != nothing {
			t.Errorf("slow %v, %+v", slow, last)
		}
	})
	t.Run("X11 what is intercepted is nobody else's", func(t *testing.T) {
		for d, want := range map[Decision]bool{
			accepted: true, viaReset: true, askReset: true, waits(time.Second, ViaBusy): true, waits(time.Second, ViaCapacity): true,
			nothing: false, ended(EndWeekly): false, ended(EndMaxWait): false,
		} {
			if d.Intercepted() != want {
				t.Errorf("%+v: %v", d, !want)
			}
		}
	})
	t.Run("X12 the answer that ends the lane goes on", func(t *testing.T) {
		slow, last := play(newBench(t).open(t0, lowOn), t0, nil, wall429, answers("429", says("slow-status", "weekly_limit")))
		if !same(slow, false, true) || last != ended(EndWeekly) || last.Intercepted() {
			t.Errorf("slow %v, %+v", slow, last)
		}
	})
	t.Run("X15 a refused token keeps the header", func(t *testing.T) {
		slow, last := play(newBench(t).open(t0, lowOn), t0, nil, wall429, answers("401", says()), ok200)
		if !same(slow, false, true, true) || last != nothing {
			t.Errorf("slow %v, %+v", slow, last)
		}
	})
}

func BenchmarkAwayFromTheWall(b *testing.B) {
	s := newBench(b)
	h := map[string][]string{
		"Content-Type": {"text/event-stream"}, "Anthropic-Ratelimit-Unified-Status": {"allowed"}, "Request-Id": {"req_1"},
		"Anthropic-Ratelimit-Unified-5h-Status": {"allowed"}, "Anthropic-Ratelimit-Unified-5h-Utilization": {"0.4"},
		"Anthropic-Ratelimit-Unified-5h-Reset": {"1800003600"}, "Anthropic-Ratelimit-Unified-Reset": {"1800003600"},
	}
	bearer := "sk-ant-oat01-" + string(make([]byte, 90))
	run := func(b *testing.B, each func()) {
		b.ReportAllocs()
		for b.Loop() {
			each()
		}
	}
	lane := func() {
		r := s.lanes.Open(KeyOf("c2", bearer, true), bothOn, t0, 0)
		r.Header(t0)
		r.Answer(t0, 200, h)
	}
	usages := NewUsages()
	b.Run("lane", func(b *testing.B) { run(b, lane) })
	b.Run("windows", func(b *testing.B) { run(b, func() { usages.Observe(t0, keyOfTest, h) }) })
}
