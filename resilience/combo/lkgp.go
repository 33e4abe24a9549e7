package combo

import (
	"slices"
	"strings"
)

// Good is the place that last served a combo.
type Good struct {
	Provider   string
	Connection string
}

var goods = slot[Good]{"lkgp", 2000}

// lastKnownGood puts the place of the last success first: the same connection,
// else another one of the provider.
func lastKnownGood(in *Input) []*Target {
	g, ok := LastGood(in.State, in.Combo, in.ComboID)
	if !ok {
		return slices.Clone(in.Targets)
	}
	at := -1
	for i := range in.Targets {
		t := in.Targets[i]
		if t.Provider != g.Provider {
			continue
		}
		if g.Connection != "" && t.Connection == g.Connection {
			at = i
			break
		}
		if at < 0 {
			at = i
		}
	}
	if at < 0 {
		return slices.Clone(in.Targets)
	}
	return front(in.Targets, at)
}

// lastKnownGoodDone keeps the place that answered and forgets one that failed.
func lastKnownGoodDone(r *Result) {
	if r.Served != nil {
		SetGood(r.State, r.Combo, r.ComboID, Good{r.Served.Provider, r.connection()})
		return
	}
	if len(r.Failed) == 0 { // nothing was tried
		return
	}
	goods.drop(r.State, goodKey(r.Combo, r.ComboID))
}

// LastGood returns the last good place of a combo. It outlives a restart: the
// caller stores it after a request and puts it back with SetGood.
func LastGood(st State, combo, id string) (Good, bool) { return goods.get(st, goodKey(combo, id)) }

// SetGood sets the last good place of a combo.
func SetGood(st State, combo, id string, g Good) {
	goods.do(st, goodKey(combo, id), func(v *Good) bool {
		*v = g
		return true
	})
}

func goodKey(combo, id string) string { return combo + "\x00" + id }

// WatchGood returns a State that tells of every change of a last good place,
// the zero Good when it was forgotten, after it has been made. Other uses go
// through as they are.
func WatchGood(st State, changed func(combo, id string, g Good)) State { return goodWatch{st, changed} }

type goodWatch struct {
	State
	changed func(combo, id string, g Good)
}

// Update implements State.
func (w goodWatch) Update(space Space, key string, f func(old any) any) {
	if space.Name != goods.Name {
		w.State.Update(space, key, f)
		return
	}
	var before, after Good
	w.State.Update(space, key, func(old any) any {
		if g, ok := old.(*Good); ok {
			before = *g
		}
		out := f(old)
		if g, ok := out.(*Good); ok {
			after = *g
		}
		return out
	})
	if before != after {
		name, id, _ := strings.Cut(key, "\x00")
		w.changed(name, id, after)
	}
}
