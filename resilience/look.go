package resilience

import (
	"time"

	"breakwater/resilience/breaker"
)

// Sight is what keeps a candidate out at a moment, if anything does.
type Sight struct {
	Reason  Skip      // empty: nothing does
	Until   time.Time // when the reason ends by itself
	Breaker breaker.State
	Level   int // the connection's backoffLevel
}

// Look tells what keeps a candidate out, as Plan would, for those who order
// candidates by other rules. It takes no probe.
func (e *Engine) Look(now time.Time, cand Candidate) Sight {
	h := e.check(now, e.cfg.Load(), cand)
	s := Sight{Reason: h.reason, Until: h.until, Breaker: cand.Conn.provider.breaker.Check(now).State, Level: cand.Conn.Level()}
	e.out.flush()
	return s
}
