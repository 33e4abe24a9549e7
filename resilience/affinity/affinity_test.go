package affinity

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var t0 = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func headers(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// ledger is a Store that remembers.
type ledger struct {
	rows map[pinKey]Pin
	log  []string
}

func newLedger() *ledger { return &ledger{rows: map[pinKey]Pin{}} }

func (l *ledger) SavePin(p Pin) {
	l.rows[pinKey{p.Provider, p.Hash}] = p
	l.log = append(l.log, "save "+p.Connection)
}

func (l *ledger) DeletePin(provider, hash string) {
	delete(l.rows, pinKey{provider, hash})
	l.log = append(l.log, "delete "+provider)
}

func list(ids ...string) []Candidate {
	out := make([]Candidate, len(ids))
	for i, id := range ids {
		out[i] = Candidate{ID: id, Priority: i + 1}
	}
	return out
}

func out(l []Candidate, id string) []Candidate {
	l = slices.Clone(l)
	for i := range l {
		l[i].Ineligible = l[i].Ineligible || l[i].ID == id
	}
	return l
}

const ttl = time.Minute

// serve is a request of a session whose answer comes whole.
func serve(t *Table, now time.Time, ttl time.Duration, provider, key, forced string, l []Candidate) Choice {
	c := t.Select(now, ttl, provider, key, forced, l)
	t.Pin(now, ttl, provider, key, c.ID)
	return c
}

func TestKey(t *testing.T) {
	t.Run("case 122 the order of the headers", func(t *testing.T) {
		all := []string{
			"x-codex-session-id", "x-session-id", "x-omniroute-session",
			"x-claude-code-session-id", "session-id", "x-session-affinity",
		}
		for i := range all {
			var pairs []string
			for j := len(all) - 1; j >= i; j-- {
				pairs = append(pairs, all[j], fmt.Sprint("v", j))
			}
			if k := Key(headers(pairs...), Body{}); k != fmt.Sprint("header:v", i) {
				t.Errorf("from %s on: %s", all[i], k)
			}
		}
		for _, h := range Own {
			if slices.Contains(Clients, h) {
				t.Errorf("%s would be forwarded", h)
			}
		}
	})
	t.Run("case 123 a value with a space, or a key beyond 180 characters", func(t *testing.T) {
		long := strings.Repeat("x", 180-len("header:"))
		for value, hashed := range map[string]bool{
			"a b": true, "ä": true, "a/b": true, strings.Repeat("x", 181): true, long: false, long + "x": true, "Az09._:-": false,
		} {
			k := Key(headers("x-session-id", value), Body{})
			if got := strings.HasPrefix(k, "header:sha256:"); got != hashed {
				t.Errorf("%q becomes %s", value, k)
			}
			if len(k) > 180 {
				t.Errorf("%d characters", len(k))
			}
		}
	})
	t.Run("a blank header is none", func(t *testing.T) {
		if k := Key(headers("x-codex-session-id", "  ", "x-session-id", " s "), Body{}); k != "header:s" {
			t.Error(k)
		}
	})
	t.Run("the fields of the body", func(t *testing.T) {
		b := Body{"m", "c", "s", "p", "text"}
		for _, step := range []struct {
			want string
			less func()
		}{
			{"metadata:m", func() { b.MetadataSession = "" }},
			{"conversation:c", func() { b.Conversation = "" }},
			{"session:s", func() { b.Session = " " }},
			{"prompt-cache:p", func() { b.PromptCache = "" }},
			{"input:sha256:" + digest("text"), func() { b.FirstUserText = " \n" }},
			{"", func() {}},
		} {
			if k := Key(headers(), b); k != step.want {
				t.Errorf("key %s, want %s", k, step.want)
			}
			step.less()
		}
	})
	t.Run("only the first 4096 characters of the text count", func(t *testing.T) {
		text := strings.Repeat("é", 4096)
		if Key(headers(), Body{FirstUserText: text}) != Key(headers(), Body{FirstUserText: text + "more"}) {
			t.Error("the rest counts")
		}
		if Key(headers(), Body{FirstUserText: text}) == Key(headers(), Body{FirstUserText: text[2:]}) {
			t.Error("the last one does not count")
		}
	})
}

func TestPins(t *testing.T) {
	t.Run("case 112 the same connection twice", func(t *testing.T) {
		tab := New(nil)
		one := serve(tab, t0, ttl, "glm", "k", "", list("a", "b"))
		tab.Use(t0.Add(time.Second), "glm", "b")
		two := serve(tab, t0.Add(2*time.Second), ttl, "glm", "k", "", list("b", "a"))
		if one.ID != "a" || one.Pinned || two.ID != "a" || !two.Pinned {
			t.Error(one, two)
		}
	})
	t.Run("case 113 no pin at TTL 0", func(t *testing.T) {
		tab := New(nil)
		if c := serve(tab, t0, 0, "glm", "k", "", list("a")); c.ID != "" || tab.Len() != 0 {
			t.Error(c, tab.Len())
		}
		if c := serve(tab, t0, ttl, "glm", "", "", list("a")); c.ID != "" || tab.Len() != 0 {
			t.Error("pinned without a key")
		}
	})
	t.Run("case 117 reading with TTL 0, expired or missing", func(t *testing.T) {
		l := newLedger()
		tab := New(l)
		serve(tab, t0, ttl, "glm", "k", "", list("a"))
		if _, ok := tab.Lookup(t0, 0, "glm", "k"); ok {
			t.Error("read at TTL 0")
		}
		if _, ok := tab.Lookup(t0, ttl, "glm", "other"); ok {
			t.Error("read what is missing")
		}
		if c, ok := tab.Lookup(t0.Add(ttl-1), ttl, "glm", "k"); !ok || c != "a" {
			t.Error("gone too early")
		}
		if _, ok := tab.Lookup(t0.Add(ttl), ttl, "glm", "k"); ok || tab.Len() != 0 || len(l.rows) != 0 {
			t.Error("an expired pin stays")
		}
	})
	t.Run("case 118 use extends the expiry", func(t *testing.T) {
		l := newLedger()
		tab := New(l)
		for i := range 10 {
			c := serve(tab, t0.Add(time.Duration(i)*50*time.Second), ttl, "glm", "k", "", list("a", "b"))
			if c.ID != "a" || c.Pinned != (i > 0) {
				t.Fatal(i, c)
			}
		}
		p := l.rows[pinKey{"glm", Hash("glm", "k")}]
		if at := t0.Add(450 * time.Second); !p.LastUsedAt.Equal(at) || !p.ExpiresAt.Equal(at.Add(ttl)) || !p.CreatedAt.Equal(t0) {
			t.Errorf("%+v", p)
		}
	})
	t.Run("case 119 a pinned connection that fails over", func(t *testing.T) {
		l := newLedger()
		tab := New(l)
		serve(tab, t0, ttl, "glm", "k", "", list("a", "b"))
		if !tab.Evict("glm", "k", "a") || tab.Len() != 0 || len(l.rows) != 0 {
			t.Error("the pin stays")
		}
	})
	t.Run("case 120 another connection fails", func(t *testing.T) {
		tab := New(nil)
		serve(tab, t0, ttl, "glm", "k", "", list("a", "b"))
		if tab.Evict("glm", "k", "b") || tab.Evict("openai", "k", "a") || tab.Evict("glm", "", "a") || tab.Len() != 1 {
			t.Error("the pin is gone")
		}
	})
	t.Run("case 121 eviction while affinity is off", func(t *testing.T) {
		tab := New(nil)
		serve(tab, t0, ttl, "glm", "k", "", list("a", "b"))
		serve(tab, t0, 0, "glm", "k", "", list("a", "b"))
		if !tab.Evict("glm", "k", "a") {
			t.Error("the pin stays")
		}
	})
	t.Run("case 124 an eligible pin beats the combo's connection", func(t *testing.T) {
		tab := New(nil)
		serve(tab, t0, ttl, "glm", "k", "", list("a", "b"))
		if c := serve(tab, t0, ttl, "glm", "k", "b", list("a", "b")); c.ID != "a" || !c.Pinned {
			t.Error(c)
		}
		if c := serve(tab, t0, ttl, "glm", "k", "b", out(list("a", "b"), "a")); c.ID != "b" || c.Pinned {
			t.Error(c)
		}
		if c := serve(tab, t0, ttl, "glm", "new", "b", list("a", "b", "c")); c.ID != "b" {
			t.Error(c)
		}
		if c := serve(tab, t0, ttl, "glm", "newer", "b", out(list("a", "b"), "b")); c.ID != "" {
			t.Error("forced to another", c)
		}
	})
	t.Run("P62 a session leaves an exhausted account and its pin follows", func(t *testing.T) {
		tab := New(nil)
		serve(tab, t0, ttl, "glm", "s1", "", list("alpha", "beta"))
		tab.Evict("glm", "s1", "alpha")
		for i := range 2 {
			c := serve(tab, t0.Add(time.Duration(i)*time.Second), ttl, "glm", "s1", "", out(list("alpha", "beta"), "alpha"))
			if c.ID != "beta" {
				t.Error(c)
			}
		}
		if c := serve(tab, t0.Add(5*time.Second), ttl, "glm", "s1", "", list("alpha", "beta")); c.ID != "beta" || !c.Pinned {
			t.Error("the pin did not follow", c)
		}
	})
	t.Run("an ineligible pin is replaced", func(t *testing.T) {
		l := newLedger()
		tab := New(l)
		serve(tab, t0, ttl, "glm", "k", "", list("a", "b"))
		if c := serve(tab, t0, ttl, "glm", "k", "", out(list("a", "b"), "a")); c.ID != "b" || c.Pinned {
			t.Error(c)
		}
		if got := strings.Join(l.log, ", "); got != "save a, save b" {
			t.Error(got)
		}
		if c := serve(tab, t0, ttl, "glm", "k", "", out(out(list("a", "b"), "a"), "b")); c.ID != "" || tab.Len() != 1 {
			t.Error("the pin is gone although nothing answered", c)
		}
	})
	t.Run("a pin is one provider's", func(t *testing.T) {
		tab := New(nil)
		serve(tab, t0, ttl, "glm", "k", "", list("a"))
		if c := serve(tab, t0, ttl, "openai", "k", "", list("x")); c.ID != "x" || c.Pinned {
			t.Error(c)
		}
	})
	t.Run("a clock set back and a shorter TTL shorten a pin", func(t *testing.T) {
		tab := New(nil)
		serve(tab, t0, 24*time.Hour, "glm", "k", "", list("a"))
		back := t0.Add(-48 * time.Hour)
		if _, ok := tab.Lookup(back, ttl, "glm", "k"); !ok {
			t.Error("gone")
		}
		if _, ok := tab.Lookup(back.Add(ttl), ttl, "glm", "k"); ok {
			t.Error("lives on")
		}
	})
}

// Ruling 61: the pin follows answers, not choices.
func TestPinsFollowAnswers(t *testing.T) {
	a, b := out(list("a", "b"), "b"), out(list("a", "b"), "a")
	pinned := func(tab *Table) string { c, _ := tab.Lookup(t0, ttl, "p", "k"); return c }
	for _, tt := range []struct {
		name string
		do   func(tab *Table)
		want string
	}{
		{"a choice pins nothing", func(tab *Table) { tab.Select(t0, ttl, "p", "k", "", list("a", "b")) }, ""},
		{"an answer does", func(tab *Table) { serve(tab, t0, ttl, "p", "k", "", a) }, "a"},
		{"a choice while the pinned one rests leaves the pin", func(tab *Table) {
			serve(tab, t0, ttl, "p", "k", "", a)
			tab.Select(t0, ttl, "p", "k", "", b)
		}, "a"},
		{"an answer of another moves it", func(tab *Table) {
			serve(tab, t0, ttl, "p", "k", "", a)
			serve(tab, t0, ttl, "p", "k", "", b)
		}, "b"},
		{"a pin at TTL 0 is none", func(tab *Table) { tab.Pin(t0, 0, "p", "k", "a") }, ""},
		{"a failure of the pinned one ends it", func(tab *Table) {
			serve(tab, t0, ttl, "p", "k", "", a)
			tab.Evict("p", "k", "a")
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tab := New(nil)
			tt.do(tab)
			if got := pinned(tab); got != tt.want {
				t.Errorf("pinned to %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("a choice does not renew a pin", func(t *testing.T) {
		tab := New(nil)
		serve(tab, t0, ttl, "p", "k", "", a)
		tab.Select(t0.Add(ttl-1), ttl, "p", "k", "", a)
		if _, ok := tab.Lookup(t0.Add(ttl), ttl, "p", "k"); ok {
			t.Error("renewed")
		}
	})
	t.Run("requests of a new session side by side stay together", func(t *testing.T) {
		tab := New(nil)
		for range 3 {
			if c := tab.Select(t0, ttl, "p", "k", "", list("a", "b", "c")); c.ID != "a" || c.Pinned {
				t.Error(c)
			}
		}
		tab.Evict("p", "k", "a")
		if c := tab.Select(t0, ttl, "p", "k", "", list("a", "b", "c")); c.ID != "b" {
			t.Error("it keeps to what failed", c)
		}
	})
}

func TestLeastRecent(t *testing.T) {
	tab := New(nil)
	pick := func(key string, l []Candidate) string {
		return serve(tab, t0.Add(time.Hour), ttl, "p", key, "", l).ID
	}
	tab.Use(t0, "p", "a")
	tab.Use(t0.Add(time.Second), "p", "b")
	l := list("a", "b", "d", "c")
	if id := pick("never used first, by priority", l); id != "d" {
		t.Error(id)
	}
	if id := pick("then the other", l); id != "c" {
		t.Error(id)
	}
	if id := pick("then the oldest", l); id != "a" {
		t.Error(id)
	}
	t.Run("equal times: fewer uses in a row, then priority", func(t *testing.T) {
		tab := New(nil)
		tab.Use(t0, "p", "x")
		tab.Use(t0, "p", "x")
		tab.Use(t0, "p", "y")
		tab.Use(t0, "q", "z") // another provider: does not end the row of y
		if _, n := tab.LastUsed("x"); n != 2 {
			t.Errorf("%d in a row", n)
		}
		if c := serve(tab, t0, ttl, "p", "k", "", list("x", "z", "y")); c.ID != "z" {
			t.Error(c)
		}
		if at, n := tab.LastUsed("z"); n != 1 || !at.Equal(t0) {
			t.Error(at, n)
		}
	})
}

func TestRestoreAndPurge(t *testing.T) {
	l := newLedger()
	tab := New(l)
	serve(tab, t0, ttl, "glm", "k", "", list("a"))
	serve(tab, t0, time.Hour, "glm", "long", "", list("b"))
	var rows []Pin
	for _, p := range l.rows {
		rows = append(rows, p)
	}
	rows = append(rows, Pin{Provider: "glm", Hash: "broken", ExpiresAt: t0.Add(time.Hour)})
	l2 := newLedger()
	again := New(l2)
	again.Restore(t0.Add(2*time.Minute), rows)
	if c, ok := again.Lookup(t0.Add(2*time.Minute), time.Hour, "glm", "long"); !ok || c != "b" || again.Len() != 1 {
		t.Error("a pin is lost over a restart", c, again.Len())
	}
	if len(l2.log) != 2 {
		t.Error("rows of no use stay in the store", l2.log)
	}
	if n := tab.Purge(t0.Add(ttl)); n != 1 || tab.Len() != 1 {
		t.Errorf("%d purged", n)
	}
	tab.Forget("b")
	if tab.Len() != 0 || len(l.rows) != 0 {
		t.Error("pins to a removed connection stay")
	}
}

func TestMemoryIsBounded(t *testing.T) {
	tab := New(nil)
	for i := range maxPins + 1 {
		serve(tab, t0.Add(time.Duration(i)*time.Millisecond), time.Hour, "p", fmt.Sprint(i), "", list("a"))
	}
	if n := tab.Len(); n > maxPins || n < maxPins*9/10 {
		t.Errorf("%d pins", n)
	}
	for key, want := range map[string]bool{"0": false, "99": false, fmt.Sprint(maxPins): true, fmt.Sprint(maxPins / 2): true} {
		if _, ok := tab.Lookup(t0.Add(time.Minute), time.Hour, "p", key); ok != want {
			t.Errorf("pin %s: %v", key, ok)
		}
	}
}

func TestOccupancy(t *testing.T) {
	o := NewOccupancy()
	all := []string{"a", "b", "c"}
	spread := func(at time.Time, session string) string { return strings.Join(o.Spread(at, session, all), "") }
	if got := spread(t0, "s1"); got != "abc" {
		t.Error(got)
	}
	for i := range 9 { // nine sessions spread evenly
		s := fmt.Sprint("s", i)
		o.Seat(t0, s, o.Spread(t0, s, all)[0])
	}
	for _, c := range all {
		if n := o.Sessions(t0, c); n != 3 {
			t.Errorf("%s has %d", c, n)
		}
	}
	if got := spread(t0, "s5"); got[0] != 'c' {
		t.Errorf("a session moves away: %s", got)
	}
	o.Leave("s0", "b") // not there
	o.Leave("s0", "a")
	if got := spread(t0, "new"); got != "abc" {
		t.Error(got)
	}
	o.Seat(t0.Add(time.Minute), "s1", "c") // moved
	if got := spread(t0.Add(time.Minute), "new"); got != "abc" {
		t.Error(got)
	}
	late := t0.Add(occupied + time.Second)
	if n := o.Sessions(late, "c"); n != 1 {
		t.Errorf("%d sit on after they have gone", n)
	}
	o.Sweep(late)
	if len(o.sessions) != 1 {
		t.Errorf("%d sessions kept", len(o.sessions))
	}
	o.Seat(t0, "", "a")
	o.Seat(t0, "s", "")
	if len(o.sessions) != 1 {
		t.Error("a seat without a name")
	}
	if got := o.Spread(t0, "s", []string{"a"}); len(got) != 1 {
		t.Error(got)
	}
	for i := range maxSessions + 5 {
		o.Seat(late, fmt.Sprint("crowd", i), "a")
	}
	if len(o.sessions) > maxSessions {
		t.Errorf("%d sessions", len(o.sessions))
	}
}
