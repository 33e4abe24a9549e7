package cooldown

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"breakwater/resilience/outcome"
)

func fails(status int, wait time.Duration, edit ...func(*outcome.Outcome)) outcome.Outcome {
	o := outcome.Outcome{Class: outcome.Failure, Scope: outcome.ScopeConnection, Status: status, Reason: outcome.ReasonServerError, Cooldown: wait, SetsLevel: true, Level: 2}
	for _, f := range edit {
		f(&o)
	}
	return o
}

func stated(o *outcome.Outcome) { o.UsedHint = true }

// page is an answer that is not the API's, wrongAddress one for a path that is
// not there, plain a refusal without a reason (rulings 56, 62).
func page(edit ...func(*outcome.Outcome)) outcome.Outcome {
	return fails(403, time.Hour, append([]func(*outcome.Outcome){func(o *outcome.Outcome) {
		o.Reason, o.Words = outcome.ReasonNotAPI, "a web page came instead of an answer"
	}}, edit...)...)
}

func wrongAddress() outcome.Outcome {
	return fails(404, 0, func(o *outcome.Outcome) { o.Reason, o.Words = outcome.ReasonWrongAddress, "a page" })
}

func plain(words string) outcome.Outcome {
	return fails(403, 5*time.Second, func(o *outcome.Outcome) { o.Reason, o.Words = outcome.ReasonAuth, words })
}

func terminally(t outcome.Terminal) func(*outcome.Outcome) {
	return func(o *outcome.Outcome) { o.Terminal, o.Cooldown = t, 0 }
}

// in brings a connection into a state at t0.
func in(state string) State {
	s := New()
	switch state {
	case Active:
	case WrongAddress:
		s.Fail(t0, wrongAddress(), Rules{}, false)
	case "cooling":
		s.Fail(t0, fails(429, time.Minute), Rules{}, false)
	case "cooled off":
		s.Fail(t0.Add(-2*time.Minute), fails(429, time.Minute), Rules{}, false)
	default:
		s.Fail(t0, fails(401, 0, terminally(outcome.Terminal(state))), Rules{}, false)
	}
	return s
}

// TestStateTable walks every (state, event) pair of the connection.
func TestStateTable(t *testing.T) {
	type result struct {
		status  string
		cooling time.Duration
		level   int
	}
	events := map[string]func(*State){
		"failure":  func(s *State) { s.Fail(t0, fails(503, 10*time.Second), Rules{}, false) },
		"uncooled": func(s *State) { s.Fail(t0, fails(503, 0), Rules{}, false) },
		"disabled": func(s *State) { s.Fail(t0, fails(503, time.Hour), Rules{DisableCooling: true}, false) },
		"busy": func(s *State) {
			s.Fail(t0, fails(429, time.Second, func(o *outcome.Outcome) { o.Reason = outcome.ReasonConcurrencyLimited }), Rules{}, false)
		},
		"stated":      func(s *State) { s.Fail(t0, fails(429, time.Hour, stated), Rules{}, false) },
		"sooner":      func(s *State) { s.Fail(t0, fails(429, time.Second, stated), Rules{}, false) },
		"no credit":   func(s *State) { s.Fail(t0, fails(402, 0, terminally(outcome.CreditsExhausted)), Rules{}, false) },
		"page":        func(s *State) { s.Fail(t0, page(), Rules{}, false) },
		"misplaced":   func(s *State) { s.Fail(t0, wrongAddress(), Rules{}, false) },
		"never rests": func(s *State) { s.Fail(t0, wrongAddress(), Rules{DisableCooling: true}, false) },
		"refused":     func(s *State) { s.Fail(t0, plain("no"), Rules{}, false) },
		"moved":       func(s *State) { s.Moved() },
		"warm":        func(s *State) { s.Warm(t0) },
		"note":        func(s *State) { s.Note(t0, fails(404, 0)) },
		"sibling":     func(s *State) { s.Extend(t0, fails(429, 0), 30*time.Second, Rules{}) },
		"success":     func(s *State) { s.Succeed() },
		"reset":       func(s *State) { s.Clear(false) },
		"test":        func(s *State) { s.Clear(true) },
	}
	const credits, expired, banned = "credits_exhausted", "expired", "banned"
	table := map[string]map[string]result{
		Active: {
			"failure": {Unavailable, 10 * time.Second, 2}, "uncooled": {Active, 0, 0}, "disabled": {Active, 0, 0}, "busy": {Unavailable, time.Second, 0},
			"stated": {Unavailable, time.Hour, 2}, "sooner": {Unavailable, time.Second, 2},
			"no credit": {credits, 0, 0}, "note": {Active, 0, 0}, "sibling": {Unavailable, 30 * time.Second, 0},
			"page": {Unavailable, 5 * time.Second, 0}, "misplaced": {WrongAddress, 0, 0}, "never rests": {Active, 0, 0},
			"refused": {Unavailable, 5 * time.Second, 2}, "moved": {Active, 0, 0}, "warm": {Active, 0, 0},
			"success": {Active, 0, 0}, "reset": {Active, 0, 0}, "test": {Active, 0, 0},
		},
		WrongAddress: { // only an address, a test, a success, a clear or a terminal state end it
			"failure": {WrongAddress, 0, 0}, "uncooled": {WrongAddress, 0, 0}, "disabled": {WrongAddress, 0, 0}, "busy": {WrongAddress, 0, 0},
			"stated": {WrongAddress, 0, 0}, "sooner": {WrongAddress, 0, 0}, "no credit": {credits, 0, 0},
			"page": {WrongAddress, 0, 0}, "misplaced": {WrongAddress, 0, 0}, "never rests": {WrongAddress, 0, 0}, "refused": {WrongAddress, 0, 0},
			"note": {WrongAddress, 0, 0}, "sibling": {WrongAddress, 0, 0}, "moved": {Active, 0, 0}, "warm": {Active, 0, 0},
			"success": {Active, 0, 0}, "reset": {Active, 0, 0}, "test": {Active, 0, 0},
		},
		"cooling": { // one failure, one step; a longer cooldown stays, what the upstream states prolongs it
			"stated": {Unavailable, time.Hour, 2}, "sooner": {Unavailable, time.Minute, 2},
			"failure": {Unavailable, time.Minute, 2}, "uncooled": {Unavailable, time.Minute, 2}, "disabled": {Unavailable, time.Minute, 2},
			"busy": {Unavailable, time.Minute, 2}, "no credit": {Unavailable, time.Minute, 2}, "note": {Unavailable, time.Minute, 2},
			"page": {Unavailable, time.Minute, 2}, "misplaced": {Unavailable, time.Minute, 2}, "never rests": {Unavailable, time.Minute, 2},
			"refused": {Unavailable, time.Minute, 2}, "moved": {Unavailable, time.Minute, 2}, "warm": {Active, 0, 0},
			"sibling": {Unavailable, time.Minute, 2}, "success": {Active, 0, 0}, "reset": {Active, 0, 0}, "test": {Active, 0, 0},
		},
		"cooled off": { // ruling 8: the level stays
			"stated": {Unavailable, time.Hour, 2}, "sooner": {Unavailable, time.Second, 2},
			"failure": {Unavailable, 10 * time.Second, 2}, "uncooled": {Unavailable, 0, 2}, "disabled": {Unavailable, 0, 2},
			"busy": {Unavailable, time.Second, 2}, "no credit": {credits, 0, 2}, "note": {Unavailable, 0, 2},
			"page": {Unavailable, 5 * time.Second, 2}, "misplaced": {WrongAddress, 0, 2}, "never rests": {Unavailable, 0, 2},
			"refused": {Unavailable, 5 * time.Second, 2}, "moved": {Unavailable, 0, 2}, "warm": {Unavailable, 0, 2},
			"sibling": {Unavailable, 30 * time.Second, 2}, "success": {Active, 0, 0}, "reset": {Active, 0, 0}, "test": {Active, 0, 0},
		},
	}
	for _, state := range []string{credits, expired, banned} { // nothing but success, credentials and a test lifts them
		row := map[string]result{}
		for event := range events {
			row[event] = result{state, 0, 0}
		}
		row["success"], row["test"] = result{Active, 0, 0}, result{Active, 0, 0}
		table[state] = row
	}
	for state, row := range table {
		for event, apply := range events {
			t.Run(state+" "+event, func(t *testing.T) {
				s := in(state)
				apply(&s)
				got := result{s.Status, max(0, s.Cooling(t0).Sub(t0)), s.Level}
				if s.Cooling(t0).IsZero() {
					got.cooling = 0
				}
				if got != row[event] {
					t.Errorf("-> %+v, want %+v", got, row[event])
				}
			})
		}
	}
}

func TestEffects(t *testing.T) {
	t.Run("the guard writes nothing", func(t *testing.T) {
		s := in("cooling")
		before := s
		e := s.Fail(at(20), fails(429, time.Hour), Rules{}, false)
		if e != (Effect{Until: at(60), Cooldown: 40 * time.Second}) || s != before {
			t.Errorf("effect = %+v", e)
		}
	})
	t.Run("a later end that the upstream states is taken over, the level stays", func(t *testing.T) {
		s := in("cooling")
		e := s.Fail(at(20), fails(429, time.Hour, stated, func(o *outcome.Outcome) { o.Level, o.HintSource = 7, "header" }), Rules{}, false)
		if e != (Effect{Until: at(3620), Cooldown: time.Hour, Written: true, Cooled: true}) || s.Level != 2 || s.Source != "header" {
			t.Errorf("effect = %+v, state %+v", e, s)
		}
		if e := s.Fail(at(21), fails(429, time.Minute, stated), Rules{}, false); e.Written || !s.Until.Equal(at(3620)) {
			t.Errorf("shortened: %+v", e)
		}
		if e := s.Fail(at(22), fails(429, 365*24*time.Hour, stated), Rules{}, false); e.Cooldown != MaxStated {
			t.Errorf("cooldown = %s", e.Cooldown)
		}
	})
	t.Run("a terminal state answers with itself", func(t *testing.T) {
		s := in("banned")
		if e := s.Fail(t0, fails(503, time.Hour), Rules{}, false); e != (Effect{Terminal: outcome.Banned}) {
			t.Errorf("effect = %+v", e)
		}
	})
	t.Run("stated waits end after 30 days", func(t *testing.T) {
		s := New()
		if e := s.Fail(t0, fails(429, 365*24*time.Hour), Rules{}, false); e.Cooldown != MaxStated {
			t.Errorf("cooldown = %s", e.Cooldown)
		}
	})
	t.Run("what set the deadline is kept", func(t *testing.T) {
		s := New()
		s.Fail(t0, fails(429, time.Minute, func(o *outcome.Outcome) { o.HintSource, o.RawHint = "body", "60s" }), Rules{}, false)
		if s.Source != "body" || s.RawHint != "60s" || s.ErrorAt != t0 {
			t.Errorf("state = %+v", s)
		}
		s = New()
		if s.Fail(t0, fails(503, time.Minute), Rules{}, false); s.Source != "ladder" {
			t.Errorf("source = %q", s.Source)
		}
	})
	t.Run("without cooling no streak of 401s begins", func(t *testing.T) {
		s := New()
		s.Fail(t0, fails(401, 0), Rules{Refreshed: true, DisableCooling: true, Base: time.Second}, false)
		if n := s.AuthFailures(t0); n != 0 {
			t.Errorf("streak of %d", n)
		}
	})
	t.Run("restoring", func(t *testing.T) {
		s := Restore(t0, State{Status: "strange", Until: at(60), Level: -1, Retries: -1})
		if s.Status != Active || s.Level != 0 || s.Retries != 0 || s.Span != time.Minute {
			t.Errorf("restored %+v", s)
		}
		if s := Restore(t0, State{Status: "banned", Until: at(60)}); !s.Until.IsZero() || s.Span != 0 {
			t.Errorf("restored %+v", s)
		}
		if s := Restore(t0, State{}); !s.Clean() {
			t.Errorf("restored %+v", s)
		}
	})
	t.Run("an expired row without a time may be retried at once", func(t *testing.T) {
		s := Restore(t0, State{Status: "expired"})
		if _, ok := s.TakeRetry(t0); !ok {
			t.Error("it may not")
		}
	})
	t.Run("clock steps shift a retry, never past its wait", func(t *testing.T) {
		s := in("expired")
		back := t0.Add(-3 * time.Hour)
		if due := s.RetryDue(back); due.Sub(back) != 5*time.Minute {
			t.Errorf("due in %s", due.Sub(back))
		}
		s = in("expired")
		s.TakeRetry(at(300))
		if due := s.RetryDue(back); due.Sub(back) != 5*time.Minute {
			t.Errorf("lease ends in %s", due.Sub(back))
		}
	})
}

// TestProperties drives a connection with arbitrary events and clock steps.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, now := New(), t0
		r := Rules{
			DisableCooling: rapid.Bool().Draw(rt, "disabled"), Refreshed: rapid.Bool().Draw(rt, "oauth"),
			StallCools: rapid.Bool().Draw(rt, "stall"), Base: 5 * time.Second,
		}
		var lease uint64
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) {
				if until := s.Cooling(now); until.Sub(now) > MaxStated+time.Second || s.Level < 0 || s.Retries < 0 || s.Retries > ExpiredRetryMax {
					rt.Fatalf("state %+v", s)
				}
				if s.Terminal() != outcome.NotTerminal && !s.Until.IsZero() {
					rt.Fatalf("terminal and cooling: %+v", s)
				}
				if s.Misplaced() && (!s.Until.IsZero() || r.DisableCooling) {
					rt.Fatalf("a wrong address with an end, or where nothing rests: %+v", s)
				}
				if a := s.Attention; a.Needed() && (s.Refusals.Count < attentionCount || s.Clean()) {
					rt.Fatalf("attention without refusals: %+v", s)
				}
				if r.DisableCooling && !s.Until.IsZero() {
					rt.Fatalf("cooling although that is disabled: %+v", s)
				}
			},
			"fail": func(rt *rapid.T) {
				before := s
				o := fails(rapid.SampledFrom([]int{401, 402, 403, 404, 429, 503}).Draw(rt, "status"), time.Duration(rapid.Int64Range(-1, int64(60*24*time.Hour)).Draw(rt, "wait")))
				o.Level, o.UsedHint = rapid.IntRange(-2, 9).Draw(rt, "level"), rapid.Bool().Draw(rt, "stated")
				o.Reason = rapid.SampledFrom([]outcome.Reason{outcome.ReasonRateLimit, outcome.ReasonStreamStall, outcome.ReasonConcurrencyLimited, outcome.ReasonAuth, outcome.ReasonNotAPI, outcome.ReasonWrongAddress}).Draw(rt, "reason")
				if rapid.IntRange(0, 5).Draw(rt, "falls") == 0 {
					o.Terminal = rapid.SampledFrom([]outcome.Terminal{outcome.Banned, outcome.Expired, outcome.CreditsExhausted}).Draw(rt, "terminal")
				}
				cooling, retry := !before.Cooling(now).IsZero(), s.HoldsRetry(lease)
				e := s.Fail(now, o, r, retry)
				if before.Terminal() != outcome.NotTerminal && !retry && s != before {
					rt.Fatalf("a terminal state was written: %+v", s)
				}
				if cooling && before.Until.After(s.Until) {
					rt.Fatalf("shortened from %v to %v", before.Until, s.Until)
				}
				if cooling && (s.Level != before.Level || !o.UsedHint && !s.Until.Equal(before.Until)) {
					rt.Fatalf("the herd changed %+v to %+v", before, s)
				}
				if o.OfAddress() && o.Terminal == outcome.NotTerminal && !retry && s.Terminal() != before.Terminal() {
					rt.Fatalf("a page made it %s", s.Status)
				}
				if before.Attention.Needed() && !s.Attention.Needed() {
					rt.Fatalf("a failure lifted the need for attention: %+v", s)
				}
				if e.Cooldown > 0 != !e.Until.IsZero() {
					rt.Fatalf("effect %+v", e)
				}
			},
			"retry": func(*rapid.T) {
				if g, ok := s.TakeRetry(now); ok {
					lease = g
				}
			},
			"give back": func(*rapid.T) { s.GiveBack(lease) },
			"sibling":   func(rt *rapid.T) { s.Extend(now, fails(429, 0), time.Hour, r) },
			"success":   func(*rapid.T) { s.Succeed() },
			"moved": func(rt *rapid.T) {
				terminal := s.Terminal()
				if s.Moved(); s.Misplaced() || s.Terminal() != terminal {
					rt.Fatalf("a new address leaves %+v", s)
				}
			},
			"warm": func(rt *rapid.T) {
				if s.Warm(now); !s.Cooling(now).IsZero() || s.Misplaced() {
					rt.Fatalf("still resting: %+v", s)
				}
			},
			"reset":   func(*rapid.T) { s.Clear(false) },
			"restart": func(*rapid.T) { s = Restore(now, s) },
			"wait":    func(rt *rapid.T) { now = now.Add(time.Duration(rapid.IntRange(0, 1800).Draw(rt, "s")) * time.Second) },
			"step": func(rt *rapid.T) {
				now = now.Add(rapid.SampledFrom([]time.Duration{-3 * time.Hour, 3 * time.Hour, 10 * time.Hour}).Draw(rt, "by"))
			},
		})
		if s.Clear(true); !s.Clean() {
			rt.Fatalf("a reset leaves %+v", s)
		}
	})
}

// TestGateProperties does the same with the window gate.
func TestGateProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var w Window
		var p Pace
		now := t0
		wr := WindowRules{Threshold: rapid.IntRange(0, 5).Draw(rt, "threshold"), Window: time.Minute, Cooldown: 5 * time.Minute}
		pr := PaceRules{Min: time.Second, Max: time.Minute}
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) {
				if left := w.Cooling(now).Sub(now); left > wr.Cooldown+time.Second {
					rt.Fatalf("the window cools for %s", left)
				}
				if left := p.Cooling(now, pr).Sub(now); left > pr.Max+time.Second {
					rt.Fatalf("the pace cools for %s", left)
				}
				if len(w.failures) > max(1, wr.Threshold) {
					rt.Fatalf("%d failures are kept", len(w.failures))
				}
			},
			"fail": func(rt *rapid.T) {
				before := w.Cooling(now)
				until, _ := w.Fail(now, wr)
				if !before.IsZero() && !until.Equal(before) {
					rt.Fatalf("extended from %v to %v", before, until)
				}
				p.Fail(now)
			},
			"success": func(rt *rapid.T) {
				w.Succeed()
				p.Succeed()
				if !w.Cooling(now).IsZero() || !p.Cooling(now, pr).IsZero() {
					rt.Fatal("still cooling after a success")
				}
			},
			"wait": func(rt *rapid.T) { now = now.Add(time.Duration(rapid.IntRange(0, 600).Draw(rt, "s")) * time.Second) },
			"step": func(rt *rapid.T) {
				now = now.Add(rapid.SampledFrom([]time.Duration{-3 * time.Hour, 3 * time.Hour, 10 * time.Hour}).Draw(rt, "by"))
			},
		})
	})
}
