package combo

import (
	"slices"
	"time"
)

// healing is the record of a candidate that is left out.
type healing struct {
	until  time.Time
	pause  time.Duration
	probes int
}

// ward is who is left out of a combo, by execution key.
type ward map[string]healing

var wards = slot[ward]{"auto-healing", 500}

const (
	healBase   = 5 * time.Minute
	healMax    = 30 * time.Minute
	healBelow  = .2
	healAbove  = .3
	healProbes = 3
)

// exclude leaves a candidate out, each time in a row for twice as long.
func (w ward) exclude(key string, now time.Time) {
	pause := min(max(healBase, 2*w[key].pause), healMax)
	w[key] = healing{until: now.Add(pause), pause: pause}
}

// visit lends the ward of a combo to f.
func visit(st State, combo string, f func(w ward)) {
	wards.do(st, combo, func(w *ward) bool {
		if *w == nil {
			*w = ward{}
		}
		f(*w)
		return len(*w) > 0
	})
}

// heal drops the candidates that are left out at the moment; all stay when
// nobody else would.
func (in *Input) heal(pool []candidate) []candidate {
	left := make([]candidate, 0, len(pool))
	visit(in.State, in.Combo, func(w ward) {
		for _, c := range pool {
			h, out := w[c.t.Key]
			if c.t.Live.Breaker == Open && !h.until.After(in.Now) {
				h, out = healing{until: in.Now.Add(healBase), pause: max(h.pause, healBase)}, true
				w[c.t.Key] = h
			}
			if h.until.Sub(in.Now) > healMax { // the clock was set back
				h.until = in.Now.Add(healMax)
				w[c.t.Key] = h
			}
			if !out || !h.until.After(in.Now) || c.t.Live.Breaker == HalfOpen {
				left = append(left, c)
			}
		}
	})
	if len(left) == 0 {
		return append(left, pool...)
	}
	return left
}

// admitByScore is the second pass, with real scores: bad candidates are left
// out, those whose time is over come back when they score well enough.
func (in *Input) admitByScore(list []candidate) []candidate {
	if in.routerName() != "rules" {
		return list // the other routers' scores are on another scale
	}
	var left []candidate
	visit(in.State, in.Combo, func(w ward) {
		left = slices.DeleteFunc(slices.Clone(list), func(c candidate) bool {
			h, out := w[c.t.Key]
			over := !h.until.After(in.Now)
			switch {
			case c.score < healBelow && over:
				w.exclude(c.t.Key, in.Now)
				out = true
			case out && over && c.score >= healAbove:
				delete(w, c.t.Key)
				out = false
			}
			return out && c.t.Live.Breaker != HalfOpen
		})
	})
	if len(left) == 0 {
		return list
	}
	return left
}

// autoDone counts probes: three good ones bring a candidate back, a bad one
// doubles its pause. It also keeps the last good place for the lkgp router.
func autoDone(r *Result) {
	visit(r.State, r.Combo, func(w ward) {
		if r.Served != nil {
			if h, out := w[r.Served.Key]; out {
				if h.probes++; h.probes < healProbes {
					w[r.Served.Key] = h
				} else {
					delete(w, r.Served.Key)
				}
			}
		}
		for _, t := range r.Failed {
			if _, out := w[t.Key]; out {
				w.exclude(t.Key, r.Now)
			}
		}
		for key := range w { // targets that are gone
			if indexOf(r.Declared, key) < 0 && !w[key].until.After(r.Now) {
				delete(w, key)
			}
		}
	})
	lastKnownGoodDone(r)
}
