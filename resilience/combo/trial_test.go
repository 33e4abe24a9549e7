package combo

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestATrialLeavesTheStateAsItIs draws what strategies do with their memory and
// does it on a trial: the trial answers as the State itself would have, and the
// State is as before.
func TestATrialLeavesTheStateAsItIs(t *testing.T) {
	now := time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		type act struct {
			kind, key string
			n         int
		}
		acts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) act {
			return act{
				rapid.SampledFrom([]string{"turn", "deck", "share", "ward", "good", "flight", "bind", "drop"}).Draw(t, "kind"),
				rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"), rapid.IntRange(0, 9).Draw(t, "n"),
			}
		}), 0, 30)
		do := func(st *State, a act) string {
			out := ""
			switch a.kind {
			case "turn":
				turns.do(st, a.key, func(v *turn) bool { v.next += a.n; out = fmt.Sprint(*v); return true })
			case "deck":
				decks.do(st, a.key, func(v *deck) bool {
					v.cards = append(v.cards, fmt.Sprint(a.n))
					slices.Sort(v.cards)
					out = fmt.Sprint(v.cards)
					return true
				})
			case "share":
				shares.do(st, a.key, func(v *deficits) bool {
					if *v == nil {
						*v = deficits{}
					}
					(*v)[fmt.Sprint(a.n)]++
					out = fmt.Sprint(*v)
					return true
				})
			case "ward":
				wards.do(st, a.key, func(v *ward) bool {
					if *v == nil {
						*v = ward{}
					}
					(*v)[fmt.Sprint(a.n)] = healing{}
					out = fmt.Sprint(len(*v))
					return true
				})
			case "good":
				SetGood(st, a.key, a.key, Good{Provider: "p", Connection: fmt.Sprint(a.n)})
			case "flight":
				Begin(st, now, a.key)
			case "bind":
				Bind(st, now, a.key, fmt.Sprint(a.n))
				out = Bound(st, now, a.key)
			case "drop":
				turns.drop(st, a.key)
				decks.drop(st, a.key)
			}
			return out
		}
		before, told := acts.Draw(t, "before"), 0
		st, twin := NewState(), NewState()
		st.WatchGood(func(string, string, Good) { told++ })
		for _, a := range before {
			do(st, a)
			do(twin, a)
		}
		kept, told0 := picture(st), told
		trial := st.Trial()
		for _, a := range acts.Draw(t, "tried") {
			if got, want := do(trial, a), do(twin, a); got != want {
				t.Fatalf("%+v gives %q on the trial, %q on the state itself", a, got, want)
			}
		}
		if got := picture(st); got != kept || told != told0 {
			t.Fatalf("the state was changed:\n%s\nbefore:\n%s", got, kept)
		}
	})
}

// picture tells all that a State keeps, the order of use included.
func picture(m *State) string {
	out := ""
	for i := range m.spaces {
		for e := m.spaces[i].order.Front(); e != nil; e = e.Next() {
			it := e.Value.(*item)
			out += fmt.Sprintf("%d %s %+v\n", i, it.key, reflect.ValueOf(it.value).Elem())
		}
	}
	return out
}

// TestEveryRememberedValueCanBeCopied fails when a strategy begins to remember
// something that a plain copy would share.
func TestEveryRememberedValueCanBeCopied(t *testing.T) {
	known := []any{new(ward), new(deficits), new(deck)} // copied by hand
	for _, v := range []any{
		new(ward), new(Good), new(tally), new(flight), new(handoff), new(int), new(turn), new(deficits), new(deck), new(binding), new(streak), new(sticky),
	} {
		byHand := slices.ContainsFunc(known, func(k any) bool { return reflect.TypeOf(k) == reflect.TypeOf(v) })
		if !byHand && sharesAnything(reflect.TypeOf(v).Elem()) {
			t.Errorf("%T holds a map, a list or a pointer; say in clone how it is copied", v)
		}
	}
}

// sharesAnything reports whether a plain copy of a value shares something with it.
func sharesAnything(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Map, reflect.Slice, reflect.Chan, reflect.Func, reflect.Interface:
		return true
	case reflect.Pointer:
		fixed := []reflect.Type{reflect.TypeFor[time.Location](), reflect.TypeFor[Usage]()} // are never changed
		return !slices.Contains(fixed, t.Elem())
	case reflect.Array:
		return sharesAnything(t.Elem())
	case reflect.Struct:
		for f := range t.Fields() {
			if sharesAnything(f.Type) {
				return true
			}
		}
	}
	return false
}
