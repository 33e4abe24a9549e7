package resilience

import (
	"time"

	"breakwater/resilience/breaker"
	"breakwater/resilience/exclusion"
)

// Look is a candidate at a moment: what excludes it, if anything does, and what
// strategies weigh.
type Look struct {
	exclusion.Exclusion
	Breaker breaker.State
	Level   int // the connection's backoffLevel
	// Last tells that the connection needs attention: it is asked after others.
	Last bool
}

// Look returns what excludes a candidate, as Plan would, for strategies that
// order candidates by other rules. It takes no probe.
func (e *Engine) Look(now time.Time, cand Candidate) Look {
	s := Look{
		Exclusion: e.check(now, e.cfg.Load(), cand),
		Breaker:   cand.Conn.provider.breaker.Check(now).State, Level: cand.Conn.Level(),
		Last: cand.Conn.AskedLast(),
	}
	e.out.flush()
	return s
}
