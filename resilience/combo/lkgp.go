package combo

import "slices"

// Good is the place that last served a combo.
type Good struct {
	Provider   string
	Connection string
}

var goods = newSlot[Good](2000)

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
	switch {
	case r.Served != nil:
		SetGood(r.State, r.Combo, r.ComboID, Good{r.Served.Provider, r.connection()})
	case len(r.Failed) > 0: // else nothing was tried
		SetGood(r.State, r.Combo, r.ComboID, Good{})
	}
}

// LastGood returns the last good place of a combo. It outlives a restart: the
// caller stores it when WatchGood tells of it and puts it back with SetGood.
func LastGood(st *State, combo, id string) (Good, bool) { return goods.get(st, goodKey(combo, id)) }

// SetGood sets the last good place of a combo, and forgets it when g is the
// zero Good.
func SetGood(st *State, combo, id string, g Good) {
	var before Good
	goods.do(st, goodKey(combo, id), func(v *Good) bool {
		before, *v = *v, g
		return g != Good{}
	})
	if before != g && st.told != nil {
		st.told(combo, id, g)
	}
}

func goodKey(combo, id string) string { return combo + "\x00" + id }

// WatchGood has changed told of every change of a last good place, the zero
// Good when it was forgotten, after it has been made. It is called once, before
// the State is used.
func (st *State) WatchGood(changed func(combo, id string, g Good)) { st.told = changed }
