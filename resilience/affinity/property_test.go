package affinity

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestProperties drives a table with arbitrary events and clock steps, beside a
// store that must always hold the same pins.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := newLedger()
		tab := New(l)
		now := t0
		ids := []string{"a", "b", "c"}
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) {
				if len(l.rows) != tab.Len() {
					rt.Fatalf("%d pins, %d stored", tab.Len(), len(l.rows))
				}
				for k, p := range tab.pins {
					if p.Connection == "" || k.hash != p.Hash || p.ExpiresAt.Before(p.LastUsedAt) && !p.ExpiresAt.Before(p.CreatedAt) {
						rt.Fatalf("pin %+v", p)
					}
				}
			},
			"select": func(rt *rapid.T) {
				key := rapid.SampledFrom([]string{"", "k1", "k2", "k3"}).Draw(rt, "key")
				life := time.Duration(rapid.IntRange(0, 120).Draw(rt, "ttl")) * time.Second
				cands := list(ids...)
				free := 0
				for i := range cands {
					cands[i].Ineligible = rapid.Bool().Draw(rt, "ineligible")
					if !cands[i].Ineligible {
						free++
					}
				}
				had, _ := tab.Lookup(now, life, "p", key)
				c := serve(tab, now, life, "p", key, "", cands)
				switch {
				case life == 0 || key == "":
					if c.ID != "" {
						rt.Fatal("chosen while off")
					}
					return
				case (c.ID == "") != (free == 0):
					rt.Fatalf("chose %q of %d", c.ID, free)
				case c.ID != "" && !eligible(cands, c.ID):
					rt.Fatalf("chose %s, which cannot serve", c.ID)
				case eligible(cands, had) && (c.ID != had || !c.Pinned):
					rt.Fatalf("left %s for %s", had, c.ID)
				}
				if got, _ := tab.Lookup(now, life, "p", key); c.ID != "" && got != c.ID {
					rt.Fatalf("pinned to %q, chose %q", got, c.ID)
				}
			},
			"evict": func(rt *rapid.T) {
				key, id := rapid.SampledFrom([]string{"k1", "k2", "k3"}).Draw(rt, "key"), rapid.SampledFrom(ids).Draw(rt, "id")
				had, ok := tab.Lookup(now, time.Hour, "p", key)
				if gone := tab.Evict("p", key, id); gone != (ok && had == id) && ok {
					rt.Fatalf("evicted: %v, pinned to %s, failed %s", gone, had, id)
				}
			},
			"purge":  func(*rapid.T) { tab.Purge(now) },
			"forget": func(rt *rapid.T) { tab.Forget(rapid.SampledFrom(ids).Draw(rt, "id")) },
			"wait":   func(rt *rapid.T) { now = now.Add(time.Duration(rapid.IntRange(0, 90).Draw(rt, "s")) * time.Second) },
			"step": func(rt *rapid.T) {
				now = now.Add(rapid.SampledFrom([]time.Duration{-time.Hour, time.Hour}).Draw(rt, "by"))
			},
		})
		tab.Purge(now.Add(1000 * time.Hour))
		if tab.Len() != 0 {
			rt.Fatal("pins live for ever")
		}
	})
}

// FuzzKey checks that a key never holds what it should not, and is stable.
func FuzzKey(f *testing.F) {
	for _, seed := range []string{"", " ", "abc", "a b", "ü", strings.Repeat("z", 200), "\x00", "a:b.c_d-e"} {
		f.Add(seed, seed, seed)
	}
	f.Fuzz(func(t *testing.T, header, field, text string) {
		h := headers("x-session-id", header)
		b := Body{MetadataSession: field, FirstUserText: text}
		k := Key(h, b)
		if k != Key(h, b) {
			t.Error("not stable")
		}
		if len(k) > maxKey || !plain(k) {
			t.Errorf("key %q", k)
		}
		if k == "" && strings.TrimSpace(header+field+text) != "" {
			t.Errorf("no key of %q", fmt.Sprint(header, field, text))
		}
	})
}

func BenchmarkSelect(b *testing.B) {
	tab := New(nil)
	cands := list("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
	keys := make([]string, 100)
	for i := range keys {
		keys[i] = fmt.Sprint("header:session-", i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		serve(tab, t0, ttl, "p", keys[i%100], "", cands)
	}
}
