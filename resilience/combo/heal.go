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

var wards = newSlot[ward](500)

const (
	healBase   = 5 * time.Minute
	healMax    = 30 * time.Minute
	healBelow  = .2
	healAbove  = .3
	healProbes = 3
)

// put writes a record; nearly all combos never need one.
func (w *ward) put(key string, h healing) {
	if *w == nil {
		*w = ward{}
	}
	(*w)[key] = h
}

// exclude leaves a candidate out, each time in a row for twice as long.
func (w *ward) exclude(key string, now time.Time) {
	pause := min(max(healBase, 2*(*w)[key].pause), healMax)
	w.put(key, healing{until: now.Add(pause), pause: pause})
}

// heal drops the candidates that are left out at the moment; all stay when
// nobody else would.
func (in *Input) heal(pool []candidate) []candidate {
	left := make([]candidate, 0, len(pool))
	wards.do(in.State, in.Combo, func(w *ward) bool {
		for _, c := range pool {
			h, out := (*w)[c.t.Key]
			if c.t.Live.Breaker == Open && !h.until.After(in.Now) {
				h, out = healing{until: in.Now.Add(healBase), pause: max(h.pause, healBase)}, true
				w.put(c.t.Key, h)
			}
			if h.until.Sub(in.Now) > healMax { // the clock was set back
				h.until = in.Now.Add(healMax)
				w.put(c.t.Key, h)
			}
			if !out || !h.until.After(in.Now) || c.t.Live.Breaker == HalfOpen {
				left = append(left, c)
			}
		}
		return len(*w) > 0
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
	wards.do(in.State, in.Combo, func(w *ward) bool {
		left = slices.DeleteFunc(slices.Clone(list), func(c candidate) bool {
			h, out := (*w)[c.t.Key]
			over := !h.until.After(in.Now)
			switch {
			case c.score < healBelow && over:
				w.exclude(c.t.Key, in.Now)
				out = true
			case out && over && c.score >= healAbove:
				delete(*w, c.t.Key)
				out = false
			}
			return out && c.t.Live.Breaker != HalfOpen
		})
		return len(*w) > 0
	})
	if len(left) == 0 {
		return list
	}
	return left
}

// autoDone counts probes: three good ones bring a candidate back, a bad one
// doubles its pause. It also keeps the last good place for the lkgp router.
func autoDone(r *Result) {
	wards.do(r.State, r.Combo, func(w *ward) bool {
		if r.Served != nil {
			if h, out := (*w)[r.Served.Key]; out {
				if h.probes++; h.probes < healProbes {
					w.put(r.Served.Key, h)
				} else {
					delete(*w, r.Served.Key)
				}
			}
		}
		for _, t := range r.Failed {
			if _, out := (*w)[t.Key]; out {
				w.exclude(t.Key, r.Now)
			}
		}
		for key, h := range *w { // targets that are gone
			if indexOf(r.Declared, key) < 0 && !h.until.After(r.Now) {
				delete(*w, key)
			}
		}
		return len(*w) > 0
	})
	lastKnownGoodDone(r)
}
