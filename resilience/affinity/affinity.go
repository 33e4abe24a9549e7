// Package affinity keeps a session on the connection that served it before.
package affinity

import (
	"maps"
	"slices"
	"sync"
	"time"

	"breakwater/resilience/clock"
)

// maxPins bounds the memory; beyond it the pins that were not used for longest
// go.
const maxPins = 20_000

// Pin ties one session to one connection of a provider (table
// session_account_affinity, ruling 25).
type Pin struct {
	Provider   string
	Hash       string // see Hash
	Connection string
	CreatedAt  time.Time
	LastUsedAt time.Time
	ExpiresAt  time.Time
}

// Store keeps pins over a restart. It is called in the order of the changes and
// without a lock held; implementations queue the write and return at once.
type Store interface {
	SavePin(Pin)
	DeletePin(provider, hash string)
}

// Candidate is a connection that may be chosen.
type Candidate struct {
	ID       string
	Priority int // the lower, the earlier
	// Ineligible tells that it cannot serve this request: tried already, cooling,
	// terminal, locked, or out of quota.
	Ineligible bool
}

// Choice is the connection chosen for a session.
type Choice struct {
	ID     string // empty: affinity has no say, select as usual
	Pinned bool   // it is the one the session had
}

type pinKey struct{ provider, hash string }

// Table holds the pins and when each connection was used. It is safe for
// concurrent use.
type Table struct {
	mu   sync.Mutex
	pins map[pinKey]Pin
	// claims are the choices for sessions that no answer has pinned yet, so that
	// requests of one session that run side by side stay together.
	claims map[pinKey]claim
	uses   map[string]use    // by connection
	last   map[string]string // the connection used last, by provider
	out    []func(Store)
	store  Store

	flushing sync.Mutex
}

// New returns an empty table; store may be nil.
func New(store Store) *Table {
	return &Table{pins: map[pinKey]Pin{}, claims: map[pinKey]claim{}, uses: map[string]use{}, last: map[string]string{}, store: store}
}

// Restore puts stored pins back, at start. Expired ones are deleted.
func (t *Table) Restore(now time.Time, pins []Pin) {
	t.mu.Lock()
	for _, p := range pins {
		if p.Connection == "" || p.Provider == "" || !p.ExpiresAt.After(now) {
			t.drop(pinKey{p.Provider, p.Hash})
			continue
		}
		t.pins[pinKey{p.Provider, p.Hash}] = p
	}
	t.mu.Unlock()
	t.flush()
}

// Lookup returns the connection a session is pinned to. A TTL of 0 switches
// affinity off; reading an expired pin deletes it.
func (t *Table) Lookup(now time.Time, ttl time.Duration, provider, key string) (connection string, ok bool) {
	t.mu.Lock()
	p, ok := t.read(now, ttl, provider, key)
	t.mu.Unlock()
	t.flush()
	return p.Connection, ok
}

func (t *Table) read(now time.Time, ttl time.Duration, provider, key string) (Pin, bool) {
	if ttl <= 0 || key == "" {
		return Pin{}, false
	}
	k := pinKey{provider, Hash(provider, key)}
	p, ok := t.pins[k]
	if !ok {
		return Pin{}, false
	}
	// A clock that was set back, or a shorter TTL, cannot keep a pin for longer
	// than it may live from now on.
	if latest := clock.Wall(now.Add(ttl)); p.ExpiresAt.After(latest) {
		p.ExpiresAt = latest
		t.pins[k] = p
	}
	if !p.ExpiresAt.After(now) {
		t.drop(k)
		return Pin{}, false
	}
	return p, true
}

// Select chooses a connection for a session: the one it is pinned to, as long
// as that is eligible, even before forced, the one a combo asks for. Otherwise
// forced, or the one used least recently, is chosen. ttl is the sliding lifetime
// of a pin (sessionAffinityTtlMs). The pin itself follows the answer: see Pin.
func (t *Table) Select(now time.Time, ttl time.Duration, provider, key, forced string, list []Candidate) Choice {
	if ttl <= 0 || key == "" {
		return Choice{}
	}
	t.mu.Lock()
	c := t.choose(now, ttl, provider, key, forced, list)
	t.mu.Unlock()
	t.flush()
	return c
}

func (t *Table) choose(now time.Time, ttl time.Duration, provider, key, forced string, list []Candidate) Choice {
	k := pinKey{provider, Hash(provider, key)}
	p, pinned := t.read(now, ttl, provider, key)
	if pinned && eligible(list, p.Connection) {
		t.use(now, provider, p.Connection)
		return Choice{ID: p.Connection, Pinned: true}
	}
	id := forced
	if c, ok := t.claims[k]; ok && now.Before(c.until) && (forced == "" || forced == c.id) {
		id = c.id
	}
	if id == "" || !eligible(list, id) {
		id = t.leastRecent(list, forced)
	}
	if id == "" {
		return Choice{}
	}
	if len(t.claims) >= maxPins {
		clear(t.claims)
	}
	t.claims[k] = claim{id, now.Add(ttl)}
	t.use(now, provider, id)
	return Choice{ID: id}
}

// claim is a choice that no answer has confirmed yet.
type claim struct {
	id    string
	until time.Time
}

// Pin ties a session to the connection that has served it whole, or renews the
// pin (ruling 61: the pin follows answers). A TTL of 0 pins nothing.
func (t *Table) Pin(now time.Time, ttl time.Duration, provider, key, connection string) {
	if ttl <= 0 || key == "" || connection == "" {
		return
	}
	t.mu.Lock()
	k := pinKey{provider, Hash(provider, key)}
	p, ok := t.read(now, ttl, provider, key)
	if !ok || p.Connection != connection {
		p = Pin{Provider: provider, Hash: k.hash, Connection: connection, CreatedAt: clock.Wall(now)}
	}
	p.LastUsedAt, p.ExpiresAt = clock.Wall(now), clock.Wall(now.Add(ttl))
	t.put(k, p)
	delete(t.claims, k)
	t.mu.Unlock()
	t.flush()
}

func eligible(list []Candidate, id string) bool {
	for i := range list {
		if list[i].ID == id {
			return !list[i].Ineligible
		}
	}
	return false
}

// Evict removes a session's pin when it points at the connection that has just
// failed, also while affinity is switched off. It returns whether it did.
func (t *Table) Evict(provider, key, failed string) bool {
	if key == "" {
		return false
	}
	t.mu.Lock()
	k := pinKey{provider, Hash(provider, key)}
	p, ok := t.pins[k]
	gone := ok && p.Connection == failed
	if t.claims[k].id == failed {
		delete(t.claims, k)
	}
	if gone {
		t.drop(k)
	}
	t.mu.Unlock()
	t.flush()
	return gone
}

// Forget removes every pin to a connection that is gone.
func (t *Table) Forget(connection string) {
	t.mu.Lock()
	for k, p := range t.pins {
		if p.Connection == connection {
			t.drop(k)
		}
	}
	maps.DeleteFunc(t.claims, func(_ pinKey, c claim) bool { return c.id == connection })
	delete(t.uses, connection)
	t.mu.Unlock()
	t.flush()
}

// Purge removes the expired pins; it is called at start and every five minutes.
// It returns how many there were.
func (t *Table) Purge(now time.Time) int {
	t.mu.Lock()
	maps.DeleteFunc(t.claims, func(_ pinKey, c claim) bool { return !c.until.After(now) })
	n := 0
	for k, p := range t.pins {
		if !p.ExpiresAt.After(now) {
			t.drop(k)
			n++
		}
	}
	t.mu.Unlock()
	t.flush()
	return n
}

// Len returns how many pins there are.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.pins)
}

// put keeps a pin. The caller holds t.mu.
func (t *Table) put(k pinKey, p Pin) {
	t.pins[k] = p
	t.queue(func(s Store) { s.SavePin(p) })
	if len(t.pins) <= maxPins {
		return
	}
	keys := slices.SortedFunc(maps.Keys(t.pins), func(a, b pinKey) int {
		return t.pins[a].LastUsedAt.Compare(t.pins[b].LastUsedAt)
	})
	for _, old := range keys[:maxPins/16] { // many at once, so that this is rare
		t.drop(old)
	}
}

// drop removes a pin. The caller holds t.mu.
func (t *Table) drop(k pinKey) {
	delete(t.pins, k)
	t.queue(func(s Store) { s.DeletePin(k.provider, k.hash) })
}

func (t *Table) queue(f func(Store)) {
	if t.store != nil {
		t.out = append(t.out, f)
	}
}

// flush hands the queued changes to the store, in order and without t.mu.
func (t *Table) flush() {
	if t.store == nil {
		return
	}
	t.flushing.Lock()
	defer t.flushing.Unlock()
	t.mu.Lock()
	list := t.out
	t.out = nil
	t.mu.Unlock()
	for _, f := range list {
		f(t.store)
	}
}
