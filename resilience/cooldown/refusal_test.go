package cooldown

import (
	"testing"
	"time"

	"breakwater/resilience/outcome"
)

// ladder returns the rests after so many answers in a row, each after the one
// before has run out.
func ladder(s *State, n int, r Rules, o outcome.Outcome) []time.Duration {
	now := t0
	var out []time.Duration
	for range n {
		e := s.Fail(now, o, r, false)
		out = append(out, e.Cooldown)
		now = now.Add(e.Cooldown + time.Second)
	}
	return out
}

func TestPageLadder(t *testing.T) {
	want := []time.Duration{5, 10, 20, 40, 80, 160, 300, 300, 300}
	for name, status := range map[string]int{"403": 403, "451": 451, "511": 511, "200": 200, "502": 502} {
		t.Run(name, func(t *testing.T) {
			s := New()
			got := ladder(&s, len(want), Rules{}, page(func(o *outcome.Outcome) { o.Status = status }))
			for i, w := range want {
				if got[i] != w*time.Second {
					t.Errorf("rest %d is %s, want %d s", i+1, got[i], w)
				}
			}
			if s.Level != 0 || s.Terminal() != outcome.NotTerminal || s.Attention.Needed() {
				t.Errorf("pages left %+v", s)
			}
		})
	}
	for name, lift := range map[string]func(*State){
		"success": func(s *State) { s.Succeed() }, "test": func(s *State) { s.Clear(true) },
		"clear": func(s *State) { s.Clear(false) }, "address": func(s *State) { s.Moved() },
	} {
		t.Run("lifted by "+name, func(t *testing.T) {
			s := New()
			ladder(&s, 4, Rules{}, page())
			if lift(&s); !s.Cooling(t0).IsZero() || !s.Clean() {
				t.Fatalf("left %+v", s)
			}
			if got := ladder(&s, 1, Rules{}, page()); got[0] != 5*time.Second {
				t.Errorf("the next rest is %s", got[0])
			}
		})
	}
	t.Run("another failure between keeps the rung", func(t *testing.T) {
		s := New()
		ladder(&s, 2, Rules{}, page())
		s.Fail(at(60), fails(503, time.Second), Rules{}, false)
		if e := s.Fail(at(120), page(), Rules{}, false); e.Cooldown != 20*time.Second {
			t.Errorf("rests %s", e.Cooldown)
		}
	})
	t.Run("a stated wait is not cut short", func(t *testing.T) {
		s := New()
		if got := ladder(&s, 2, Rules{}, page(stated)); got[0] != time.Hour || got[1] != time.Hour {
			t.Errorf("rests %s", got)
		}
	})
	t.Run("never where nothing rests", func(t *testing.T) {
		s := New()
		if got := ladder(&s, 2, Rules{DisableCooling: true}, page()); got[0] != 0 || s.Words == "" {
			t.Errorf("rests %s, %+v", got, s)
		}
	})
}

// TestAttention walks rows of events at times in seconds (ruling 62).
func TestAttention(t *testing.T) {
	type event struct {
		at float64
		do func(*State, time.Time) Effect
	}
	fail := func(o outcome.Outcome) func(*State, time.Time) Effect {
		return func(s *State, now time.Time) Effect { return s.Fail(now, o, Rules{}, false) }
	}
	refused := fail(plain("no access"))
	lift := func(f func(*State)) func(*State, time.Time) Effect {
		return func(s *State, _ time.Time) Effect { f(s); return Effect{} }
	}
	at600 := func(do func(*State, time.Time) Effect) []event {
		return []event{{0, refused}, {300, do}, {400, refused}, {600, refused}}
	}
	for name, c := range map[string]struct {
		events []event
		want   bool
	}{
		"three over ten minutes":           {[]event{{0, refused}, {300, refused}, {600, refused}}, true},
		"three within less":                {[]event{{0, refused}, {300, refused}, {599, refused}}, false},
		"two over ten minutes":             {[]event{{0, refused}, {900, refused}}, false},
		"many at once and one late":        {[]event{{0, refused}, {10, refused}, {20, refused}, {30, refused}, {601, refused}}, true},
		"while it rests none counts":       {[]event{{0, refused}, {1, refused}, {2, refused}, {700, refused}}, false},
		"a success ends the row":           {at600(lift(func(s *State) { s.Succeed() })), false},
		"a clear ends the row":             {at600(lift(func(s *State) { s.Clear(false) })), false},
		"a limit ends the row":             {at600(fail(fails(429, time.Second))), false},
		"an unknown path ends the row":     {at600(fail(fails(404, time.Second))), false},
		"a server fault keeps it":          {at600(fail(fails(503, time.Second))), true},
		"a page keeps it":                  {at600(fail(page())), true},
		"a broken network keeps it":        {at600(fail(fails(0, time.Second, func(o *outcome.Outcome) { o.Network = true }))), true},
		"a restart keeps it":               {at600(lift(func(s *State) { *s = Restore(at(300), *s) })), true},
		"words of quota are another's":     {[]event{{0, fail(quota403)}, {300, fail(quota403)}, {700, fail(quota403)}}, false},
		"a ban is clearer":                 {[]event{{0, refused}, {300, refused}, {700, fail(fails(403, 0, terminally(outcome.Banned)))}}, false},
		"a client's own login is not ours": {[]event{{0, clients}, {300, clients}, {700, clients}}, false},
		"a model's refusal is no row":      {[]event{{0, note}, {300, note}, {700, note}}, false},
		"a clock set back begins no row":   {[]event{{0, refused}, {-9000, refused}, {-8000, refused}, {-7000, refused}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := New()
			alarms := 0
			for _, e := range c.events {
				if e.do(&s, at(e.at)).Alarmed {
					alarms++
				}
			}
			if s.Attention.Needed() != c.want || (alarms == 1) != c.want {
				t.Errorf("attention %v, %d alarms, state %+v", s.Attention, alarms, s)
			}
		})
	}
}

var quota403 = fails(403, time.Second, func(o *outcome.Outcome) { o.Reason = outcome.ReasonQuota })

func clients(s *State, now time.Time) Effect {
	return s.Fail(now, plain("no access"), Rules{ClientsOwn: true}, false)
}

func note(s *State, now time.Time) Effect { s.Note(now, plain("this model")); return Effect{} }

func TestAttentionStays(t *testing.T) {
	alarmed := func() State {
		s := New()
		for _, sec := range []float64{0, 300, 600} {
			s.Fail(at(sec), plain("no access"), Rules{}, false)
		}
		return s
	}
	for name, c := range map[string]struct {
		do     func(*State)
		stays  bool
		words  string
		status string
	}{
		"failure":  {func(s *State) { s.Fail(at(700), fails(429, time.Second), Rules{}, false) }, true, "no access", Unavailable},
		"again":    {func(s *State) { s.Fail(at(700), plain("still none"), Rules{}, false) }, true, "still none", Unavailable},
		"restart":  {func(s *State) { *s = Restore(at(700), *s) }, true, "no access", Unavailable},
		"time":     {func(s *State) { s.Cooling(at(9e6)) }, true, "no access", Unavailable},
		"address":  {func(s *State) { s.Moved() }, true, "no access", Unavailable},
		"no rests": {func(s *State) { s.Warm(at(601)) }, true, "no access", Active},
		"success":  {func(s *State) { s.Succeed() }, false, "", Active},
		"clear":    {func(s *State) { s.Clear(false) }, false, "", Active},
		"test":     {func(s *State) { s.Clear(true) }, false, "", Active},
	} {
		t.Run(name, func(t *testing.T) {
			s := alarmed()
			c.do(&s)
			if s.Attention.Needed() != c.stays || s.Attention.Words != c.words || s.Status != c.status {
				t.Errorf("state %+v", s)
			}
		})
	}
}
