package resilience

import (
	"slices"
	"testing"
	"time"

	"breakwater/resilience/exclusion"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

func refusal(status int, reason outcome.Reason, words string) outcome.Outcome {
	return outcome.Outcome{
		Class: outcome.Failure, Scope: outcome.ScopeConnection, Status: status, Reason: reason, Words: words,
		Fallback: true, Cooldown: 5 * time.Second,
	}
}

// alarm makes a connection need attention and lets its last rest run out.
func (r *rig) alarm(c *Conn) {
	for range 3 {
		r.try(c, "m", refusal(403, outcome.ReasonAuth, "no access"))
		r.clock.Advance(5 * time.Minute)
	}
}

func (r *rig) order(conns ...*Conn) string {
	var list []Candidate
	for _, c := range conns {
		list = append(list, Candidate{Conn: c, Model: "m"})
	}
	out := ""
	for _, t := range r.Plan(list).Targets {
		out += t.Conn.ID()
	}
	return out
}

func TestNeedsAttentionIsAskedLast(t *testing.T) {
	r := newRig(t)
	a, b, c := r.conn("a", "one"), r.conn("b", "one"), r.conn("c", "two")
	r.alarm(a)
	if got := r.order(a, b, c); got != "bca" {
		t.Fatalf("order %s", got)
	}
	if st := r.ConnectionStatus(a); st.State != StateNeedsAttention || st.Attention.Words != "no access" || !st.Until.IsZero() {
		t.Errorf("status %+v", st)
	}
	kinds := 0
	for _, ch := range r.changes {
		if ch.Kind == ChangeAttention && ch.Connection == "a" && ch.To == "needs_attention" {
			kinds++
		}
	}
	if kinds != 1 {
		t.Errorf("announced %d times: %+v", kinds, r.changes)
	}
	if l := r.Look(r.clock.Now(), Candidate{Conn: a, Model: "m"}); l.Excludes() || !l.Last {
		t.Errorf("look %+v", l)
	}
	r.alarm(c)
	if got := r.order(a, b, c); got != "bac" { // among themselves in their order
		t.Errorf("order %s", got)
	}
	if got := r.order(a); got != "a" { // asked last, still asked
		t.Errorf("alone: %q", got)
	}
}

func TestAttentionIsLifted(t *testing.T) {
	for name, lift := range map[string]func(*rig, *Conn){
		"success": func(r *rig, c *Conn) { r.try(c, "m", success()) },
		"test":    func(r *rig, c *Conn) { r.TestPassed(c.ID(), "") },
		"key":     func(r *rig, c *Conn) { r.ResetConnection(c.ID()) },
		"clear":   func(r *rig, c *Conn) { r.ClearConnection(c.ID()) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			a, b := r.conn("a", "one"), r.conn("b", "one")
			r.alarm(a)
			if lift(r, a); r.order(a, b) != "ab" || r.saved["a"].AttentionWords != "" || !r.saved["a"].AttentionSince.IsZero() {
				t.Errorf("order %s, stored %+v", r.order(a, b), r.saved["a"])
			}
		})
	}
	for name, keep := range map[string]func(*rig, *Conn){
		"address":      func(r *rig, c *Conn) { r.AddressChanged(c.ID()) },
		"failed test":  func(r *rig, c *Conn) { r.BeginTest(Target{Conn: c}).Report(failure(429, 0)) },
		"breakers":     func(r *rig, _ *Conn) { r.ResetBreakers() },
		"another edit": func(r *rig, c *Conn) { r.conn("a", "one", disableCooling) },
	} {
		t.Run(name+" keeps it", func(t *testing.T) {
			r := newRig(t)
			a, b := r.conn("a", "one"), r.conn("b", "one")
			r.alarm(a)
			if keep(r, a); r.order(a, b) != "ba" {
				t.Errorf("order %s", r.order(a, b))
			}
		})
	}
}

func TestAttentionAndWordsSurviveARestart(t *testing.T) {
	for name, edit := range map[string][]func(*Connection){"resting": nil, "never resting": {disableCooling}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			a := r.conn("a", "one", edit...)
			r.alarm(a)
			next := newRig(t)
			again, b := next.conn("a", "one", edit...), next.conn("b", "one")
			next.clock.Set(r.clock.Now())
			next.Restore([]ConnectionState{r.saved["a"]}, nil)
			st := next.ConnectionStatus(again)
			if next.order(again, b) != "ba" || st.Words != "no access" || st.Attention.Words != "no access" {
				t.Errorf("order %s, %+v", next.order(again, b), st)
			}
		})
	}
}

// TestWhatIsNoAPI: neither the provider nor a model is to blame for a page, and
// it is never the end of a connection (ruling 56).
func TestWhatIsNoAPI(t *testing.T) {
	window := func(s *settings.Settings) {
		s.ProviderCooldown.Enabled = true
		s.ModelLockout.Enabled = true
	}
	for name, o := range map[string]outcome.Outcome{
		"403": refusal(403, outcome.ReasonNotAPI, "a web page came instead of an answer"),
		"502": refusal(502, outcome.ReasonNotAPI, "a web page came instead of an answer"),
		"503": refusal(503, outcome.ReasonNotAPI, ""),
		"404": refusal(404, outcome.ReasonNotAPI, ""),
		"a model's": {
			Class: outcome.Failure, Scope: outcome.ScopeModel, Status: 404, Reason: outcome.ReasonNotAPI, Cooldown: time.Hour,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, window)
			a, sibling := r.conn("a", "one"), r.conn("b", "one")
			for i, want := range []time.Duration{5, 10, 20, 40, 80, 160, 300, 300} {
				e := r.try(a, "m", o)
				if e.Cooldown != want*time.Second || e.Counted || e.Terminal != "" {
					t.Fatalf("page %d: %+v, want %d s", i+1, e, want)
				}
				if why, _ := r.excluded(sibling, "m"); why != "" {
					t.Fatalf("page %d keeps the sibling out: %s", i+1, why)
				}
				r.clock.Advance(e.Cooldown)
			}
			if why, _ := r.excluded(a, "m"); why != "" {
				t.Errorf("out after its rest: %s", why)
			}
			r.try(a, "m", success())
			if e := r.try(a, "m", o); e.Cooldown != 5*time.Second {
				t.Errorf("after a success it rests %s", e.Cooldown)
			}
		})
	}
}

func TestWrongAddress(t *testing.T) {
	wrong := refusal(404, outcome.ReasonWrongAddress, "The page you are looking for is not here.")
	for name, c := range map[string]struct {
		do    func(*rig)
		ended bool
	}{
		"time":          {func(r *rig) { r.clock.Advance(365 * 24 * time.Hour) }, false},
		"breakers":      {func(r *rig) { r.ResetBreakers() }, false},
		"a failed test": {func(r *rig) { r.BeginTest(Target{Conn: r.Connection("a")}).Report(failure(429, time.Second)) }, false},
		"an edit":       {func(r *rig) { r.conn("a", "one") }, false},
		"a new address": {func(r *rig) { r.AddressChanged("a") }, true},
		"a good test":   {func(r *rig) { r.TestPassed("a", "") }, true},
		"a clear":       {func(r *rig) { r.ClearConnection("a") }, true},
		"a new key":     {func(r *rig) { r.ResetConnection("a") }, true},
		"a new server":  {func(r *rig) { r.conn("a", "custom:elsewhere") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			a := r.conn("a", "one")
			r.try(a, "m", wrong)
			if why, left := r.excluded(a, "other"); why != exclusion.WrongAddress || left != 0 {
				t.Fatalf("excluded %q for %s", why, left)
			}
			if st := r.ConnectionStatus(a); st.State != StateWrongAddress || st.Words != wrong.Words || len(st.Lockouts) != 0 {
				t.Errorf("status %+v", st)
			}
			if !slices.ContainsFunc(r.changes, func(c Change) bool { return c.Kind == ChangeTerminal && c.To == "wrong_address" }) {
				t.Errorf("changes %+v", r.changes)
			}
			c.do(r)
			if why, _ := r.excluded(r.Connection("a"), "m"); (why == "") != c.ended {
				t.Errorf("excluded %q", why)
			}
			if stored := r.saved["a"].TestStatus; (stored == "active") != c.ended {
				t.Errorf("stored %q", stored)
			}
		})
	}
}
