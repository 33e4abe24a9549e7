package lease

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// table is the simplest store that can be: rows in the order they were made.
type table struct {
	rows   []Lease
	serial int
}

func (t *table) do(o Op, now time.Time) Outcome {
	t.serial++
	o.ID = fmt.Sprint("L", t.serial)
	var v View
	for i := range t.rows {
		l := t.rows[i]
		if l.State == Active && l.OwnerHash == o.OwnerHash {
			v.Own = &l
		}
		if l.State == Active && l.ConnectionID == o.ConnectionID {
			v.Holder = &l
		}
		if l.State != Active && l.OwnerHash == o.OwnerHash && l.Generation == o.Generation {
			v.Past = &l
		}
		if l.OwnerHash == o.OwnerHash {
			v.Highest = max(v.Highest, l.Generation)
		}
	}
	out := Apply(v, o, now)
	for _, w := range out.Write {
		t.put(w)
	}
	return out
}

func (t *table) put(w Lease) {
	for i := range t.rows {
		if t.rows[i].ID == w.ID {
			t.rows[i] = w
			return
		}
	}
	t.rows = append(t.rows, w)
}

// TestProperties drives a table with arbitrary operations and clock steps,
// back ones included: one active lease for each owner and each connection, no
// final state ever left, generations that only rise, lives within bounds, and
// a fence that passes the newest generation alone.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tab, now := &table{}, t0
		highest, final := map[string]int64{}, map[string]State{}
		actions := []Action{Acquire, Acquire, Transition, Renew, Release, Invalidate, Check}
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) { invariants(rt, tab, now, final) },
			"time": func(rt *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(-20, 90).Draw(rt, "s")) * time.Second)
			},
			"operate": func(rt *rapid.T) {
				o := Op{
					Action:    rapid.SampledFrom(actions).Draw(rt, "action"),
					OwnerHash: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "owner"), KeyID: rapid.SampledFrom([]string{"k", "k", "k", "m"}).Draw(rt, "key"),
					ConnectionID: rapid.SampledFrom([]string{"c1", "c2"}).Draw(rt, "connection"),
					Generation:   int64(rapid.IntRange(1, 4).Draw(rt, "generation")),
					TTL:          time.Duration(rapid.IntRange(0, 3000).Draw(rt, "ttl")) * time.Second,
				}
				out := tab.do(o, now)
				if out.Result == Acquired {
					if out.Lease.Generation <= highest[o.OwnerHash] {
						rt.Fatalf("generation %d after %d", out.Lease.Generation, highest[o.OwnerHash])
					}
					highest[o.OwnerHash] = out.Lease.Generation
				}
				if o.Action == Check && out.Result == Valid && o.Generation != highest[o.OwnerHash] {
					rt.Fatalf("the fence passed generation %d, the newest is %d", o.Generation, highest[o.OwnerHash])
				}
				if !out.Result.OK() && out.Lease.State != "" && out.Lease.State != Active {
					rt.Fatalf("refused by %+v", out.Lease)
				}
			},
		})
	})
}

func invariants(rt *rapid.T, tab *table, now time.Time, final map[string]State) {
	owners, conns := map[string]bool{}, map[string]bool{}
	for _, l := range tab.rows {
		if was, over := final[l.ID]; over && was != l.State {
			rt.Fatalf("%s went from %s to %s", l.ID, was, l.State)
		}
		if l.State != Active {
			final[l.ID] = l.State
			continue
		}
		if owners[l.OwnerHash] || conns[l.ConnectionID] {
			rt.Fatalf("two active leases: %+v", tab.rows)
		}
		owners[l.OwnerHash], conns[l.ConnectionID] = true, true
		if life := l.ExpiresAt.Sub(l.RenewedAt); life < MinTTL || life > MaxTTL {
			rt.Fatalf("a life of %v", life)
		}
		if l.Live(now) && l.At(now).ExpiresAt.After(now.Add(MaxTTL)) {
			rt.Fatalf("%+v is pinned", l)
		}
	}
}
