package combo

import (
	"strings"
	"testing"
)

func TestWalk(t *testing.T) {
	exec := map[string]any{"nestedComboMode": "execute"}
	w := place{combos: map[string]*Combo{}}
	put := func(name string, s Name, steps ...string) *Combo {
		c := mk(name, s, steps...)
		c.Config = exec
		w.combos[name] = &c
		return &c
	}
	p := planner(w)
	walk := func(t *testing.T, c *Combo) *Walk {
		t.Helper()
		q := Request{Now: t0, Session: "s"}
		plan, r := p.Plan(c, &q)
		if r != nil {
			t.Fatal(r)
		}
		return p.Walk(plan, q)
	}
	all := func(wk *Walk) string {
		var got []string
		for {
			x, r, ok := wk.Next()
			switch {
			case !ok:
				return strings.Join(got, " ")
			case r != nil:
				got = append(got, "refused:"+x.Combo)
			default:
				got = append(got, x.Model)
				wk.Fail(x)
			}
		}
	}
	put("inner", LKGP, "p/a", "p/b")
	outer := put("outer", RoundRobin, "p/1", "inner", "p/2")
	// lkgp cannot hold a black box itself but is one here.
	wk := walk(t, outer)
	if got := all(wk); got != "p/1 p/a p/b p/2" {
		t.Error(got)
	}
	wk.Abandon(t0)
	t.Run("a success is learned on every level", func(t *testing.T) {
		wk := walk(t, outer) // the second turn starts at inner
		x, _, _ := wk.Next()
		wk.Fail(x)
		x, _, _ = wk.Next()
		if x.Model != "p/b" {
			t.Fatal(x.Model)
		}
		wk.Serve(t0, x, "c7", nil)
		if g, ok := LastGood(p.State, "inner", "inner"); !ok || g.Connection != "c7" {
			t.Error(g, ok)
		}
		if Bound(p.State, t0, "s") != "c7" {
			t.Error(Bound(p.State, t0, "s"))
		}
		wk = walk(t, outer)
		if x, _, _ := wk.Next(); x.Model != "p/2" {
			t.Error("the parent did not move on", x.Model)
		}
		wk.Abandon(t0)
	})
	t.Run("a circle, too much depth, and a combo that is gone", func(t *testing.T) {
		a := put("a", Priority, "b", "p/1")
		put("b", Priority, "a", "p/2")
		wk := walk(t, a)
		if got := all(wk); got != "refused:a p/2 p/1" {
			t.Error(got)
		}
		put("d4", Priority, "p/4")
		put("d3", Priority, "d4", "p/3")
		put("d2", Priority, "d3", "p/2")
		d1 := put("d1", Priority, "d2", "p/1")
		wk = walk(t, d1)
		if got := all(wk); got != "refused:d4 p/3 p/2 p/1" {
			t.Error(got)
		}
		put("empty", Priority)
		wk = walk(t, put("g", Priority, "empty", "d3", "p/9"))
		delete(w.combos, "d3")
		if got := all(wk); got != "refused:empty refused:d3 p/9" {
			t.Error(got)
		}
	})
	t.Run("the message names the reason", func(t *testing.T) {
		for _, c := range []struct {
			err  NestError
			want string
		}{{NestError{Cycle: true, path: []string{"a", "b", "a"}}, "circular"}, {NestError{path: []string{"a"}}, "maximum nesting"}} {
			if !strings.Contains(c.err.Error(), c.want) {
				t.Error(c.err.Error())
			}
		}
	})
}
