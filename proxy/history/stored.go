package history

import (
	"slices"
	"time"

	"breakwater/proxy/dialect"
)

const (
	// maxStored and maxStoredBytes bound what is kept of conversations that their
	// accounts store, maxConversation one of them.
	maxStored       = 4096
	maxStoredBytes  = 32 << 20
	maxConversation = 2 << 20
)

// stored is an answer that its account has kept under a name.
type stored struct {
	owner string
	// items are the conversation up to and including the answer, nil when it is
	// not known whole.
	items []string
	size  int
}

// shelf keeps stored answers by name, bounded in number and bytes.
type shelf struct {
	answers *lru[string, stored]
	size    int
}

func newShelf() *shelf {
	s := &shelf{answers: newLRU[string, stored](maxStored, lifetime)}
	s.answers.gone = func(one stored) { s.size -= one.size }
	return s
}

// put keeps an answer.
func (s *shelf) put(now time.Time, id string, one stored) {
	for _, item := range one.items {
		one.size += len(item)
	}
	if one.size > maxConversation {
		one.items, one.size = nil, 0
	}
	at := s.answers.touch(now, id)
	s.size += one.size - at.size
	*at = one
	for e := s.answers.order.Back(); e != nil && s.size > maxStoredBytes; e = e.Prev() {
		old := &e.Value.(*kept[string, stored]).value //nolint:forcetypeassert // nothing else is put in
		s.size -= old.size
		old.items, old.size = nil, 0 // its owner stays known
	}
}

// keep remembers that an account stores an answer, and the conversation that led
// to it where that is known: before is the answer it continues.
func (m *Memory) keep(id, before string, by Owner, items []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if before != "" {
		old := m.shelf.answers.get(now, before)
		if old == nil || old.items == nil {
			items = nil
		} else {
			items = append(slices.Clip(old.items), items...)
		}
	}
	m.Learned.Store(true)
	m.shelf.put(now, id, stored{owner: by.ID, items: items})
}

// answer returns what is known of a stored answer.
func (m *Memory) answer(id string) (owner string, items []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if one := m.shelf.answers.get(m.now(), id); one != nil {
		return one.owner, one.items
	}
	return "", nil
}

// local returns the body as the target can read it: an answer that another
// account has stored is written out where the conversation is known.
func (v *Visit) local(raw []byte) (out []byte, expanded bool) {
	if id := dialect.Previous(v.c.dialect, raw); id != "" {
		if owner, items := v.c.memory.answer(id); owner != "" && owner != v.to.ID && items != nil {
			if out, ok := dialect.Expanded(v.c.dialect, raw, items); ok {
				return out, true
			}
		}
	}
	return raw, false
}

// Stranded returns the account that alone can continue the request, because it
// has stored the answer that the request names and the conversation is not known
// here; empty for none.
func (c *Conversation) Stranded(raw []byte) (owner string) {
	if c.quiet {
		return ""
	}
	if id := dialect.Previous(c.dialect, raw); id != "" {
		if by, items := c.memory.answer(id); items == nil {
			return by
		}
	}
	return ""
}

// store sees the name of an answer that the target keeps.
func (v *Visit) store(data []byte) {
	if id, items := dialect.StoredAnswer(v.c.dialect, data); id != "" {
		v.answer, v.items = id, items
	}
}

// keepAnswer remembers the answer to the body that the target was sent.
func (v *Visit) keepAnswer(sent []byte) {
	if v.answer == "" || !dialect.Stores(v.c.dialect, sent) {
		return
	}
	v.c.memory.keep(v.answer, dialect.Previous(v.c.dialect, sent), v.to, append(dialect.Items(v.c.dialect, sent), v.items...))
}
