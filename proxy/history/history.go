// Package history remembers which account made the reasoning in a conversation,
// so that a conversation can go on at another one (ruling 61).
package history

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"breakwater/proxy/dialect"
)

const (
	// maxItems bounds what is remembered, lifetime how long after it was seen last.
	maxItems = 100_000
	lifetime = 24 * time.Hour
	// maxOwners is how many accounts are remembered for one item.
	maxOwners = 8
	// maxPairs bounds the pairs of accounts of which one refuses what the other
	// made.
	maxPairs = 4096
)

// Owner is an account that makes reasoning: a connection, and the vendor behind
// it, empty where it is not known.
type Owner struct{ ID, Vendor string }

// item is what is known of one sealed part.
type item struct {
	maker    Owner    // zero when it came in a request only
	accepted []string // accounts that answered a request that holds it
	refused  []string // accounts that refused it
}

// belongs reports whether the account can read the item.
func (i *item) belongs(id string) bool {
	return i.maker.ID == id || slices.Contains(i.accepted, id)
}

// pair is an account, and one that refuses what it made.
type pair struct{ maker, target string }

// Memory remembers sealed parts by their digests, in memory only. It is safe for
// concurrent use; a nil Memory remembers nothing.
type Memory struct {
	// Learned tells that the memory may hold something. It is never set back: a
	// request that has one owner only looks no further.
	Learned atomic.Bool

	now  func() time.Time
	seed maphash.Seed

	mu    sync.Mutex
	items *lru[uint64, item]
	pairs *lru[pair, struct{}]
	shelf *shelf
}

// New returns an empty memory; now is the core's time.
func New(now func() time.Time) *Memory {
	return &Memory{
		now: now, seed: maphash.MakeSeed(),
		items: newLRU[uint64, item](maxItems, lifetime), pairs: newLRU[pair, struct{}](maxPairs, lifetime),
		shelf: newShelf(),
	}
}

// Empty reports whether nothing was ever remembered.
func (m *Memory) Empty() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.items.len() == 0 && m.shelf.answers.len() == 0
}

func (m *Memory) digest(seal string) uint64 { return maphash.String(m.seed, seal) }

// made notes that an account made a sealed part.
func (m *Memory) made(seal string, by Owner) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Learned.Store(true)
	i := m.items.touch(m.now(), m.digest(seal))
	i.maker = by
	i.refused = without(i.refused, by.ID)
}

// accepted notes that an account answered a request that holds these parts.
func (m *Memory) accepted(seals []string, by Owner) {
	if len(seals) == 0 {
		return
	}
	m.Learned.Store(true)
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	for _, seal := range seals {
		i := m.items.touch(now, m.digest(seal))
		i.refused = without(i.refused, by.ID)
		if i.maker.ID != by.ID {
			i.accepted = with(i.accepted, by.ID)
			m.pairs.remove(pair{i.maker.ID, by.ID})
		}
	}
}

// refused notes that an account could not read these parts. What it was believed
// to own it does not own any more: its key or its organisation has changed.
func (m *Memory) refused(seals []string, by Owner) {
	m.Learned.Store(true)
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	for _, seal := range seals {
		i := m.items.touch(now, m.digest(seal))
		i.refused, i.accepted = with(i.refused, by.ID), without(i.accepted, by.ID)
		switch i.maker.ID {
		case by.ID:
			i.maker = Owner{}
		case "":
		default:
			m.pairs.touch(now, pair{i.maker.ID, by.ID})
		}
	}
}

// owns reports whether a part is known to be the account's.
func (m *Memory) owns(seal string, to Owner) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.items.get(m.now(), m.digest(seal))
	return i != nil && i.belongs(to.ID)
}

// refuses reports whether the account is known to refuse a part: it did so
// before, it refuses what that part's maker made, or the maker is another vendor.
func (m *Memory) refuses(seal string, to Owner) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	i := m.items.get(now, m.digest(seal))
	switch {
	case i == nil || i.belongs(to.ID):
		return false
	case slices.Contains(i.refused, to.ID):
		return true
	case i.maker.ID == "":
		return false
	case i.maker.Vendor != "" && to.Vendor != "" && i.maker.Vendor != to.Vendor:
		return true
	}
	return m.pairs.get(now, pair{i.maker.ID, to.ID}) != nil
}

// owners returns the accounts that can read a part, and those that refused it.
func (m *Memory) owners(seal string) (owners, refused []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.items.get(m.now(), m.digest(seal))
	if i == nil {
		return nil, nil
	}
	owners = slices.Clone(i.accepted)
	if i.maker.ID != "" {
		owners = append(owners, i.maker.ID)
	}
	return owners, slices.Clone(i.refused)
}

func with(list []string, id string) []string {
	if slices.Contains(list, id) {
		return list
	}
	if len(list) >= maxOwners {
		list = list[1:]
	}
	return append(slices.Clip(list), id)
}

func without(list []string, id string) []string {
	i := slices.Index(list, id)
	if i < 0 {
		return list
	}
	return slices.Delete(slices.Clone(list), i, i+1)
}

// seals lists the sealed parts of a request.
func seals(d dialect.Dialect, raw []byte, compacted bool) (list []string) {
	dialect.SealedParts(d, raw, func(s dialect.Sealed) {
		if !s.Compacted || compacted {
			list = append(list, s.Seal)
		}
	})
	return list
}
