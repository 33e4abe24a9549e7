package combo

import (
	"container/list"
	"sync"
)

// State keeps what strategies remember between requests. It is process memory,
// lost on restart; what must survive is written by the caller (see Keep).
type State interface {
	// Update calls f with the value kept under key in space, nil if none, and
	// keeps what f returns; nil forgets the key. Calls for one space follow
	// one another; f must not call the State again.
	Update(space Space, key string, f func(old any) any)
}

// Space is a named part of a State that holds at most Max keys; beyond them
// the one that was not used for longest goes.
type Space struct {
	Name string
	Max  int
}

// A slot is a space whose values are of one type.
type slot[T any] Space

// do lends the value under key to f, a fresh one if there is none. f returns
// whether the value is kept.
func (s slot[T]) do(st State, key string, f func(v *T) bool) {
	st.Update(Space(s), key, func(old any) any {
		v, ok := old.(*T)
		if !ok {
			v = new(T)
		}
		if !f(v) {
			return nil
		}
		return v
	})
}

// get returns a copy of the value under key.
func (s slot[T]) get(st State, key string) (out T, ok bool) {
	st.Update(Space(s), key, func(old any) any {
		if v, is := old.(*T); is {
			out, ok = *v, true
			return v
		}
		return nil
	})
	return out, ok
}

// peek lends the value under key to f, if there is one.
func (s slot[T]) peek(st State, key string, f func(v *T)) {
	st.Update(Space(s), key, func(old any) any {
		if v, is := old.(*T); is {
			f(v)
			return v
		}
		return nil
	})
}

// drop forgets the value under key.
func (s slot[T]) drop(st State, key string) {
	st.Update(Space(s), key, func(any) any { return nil })
}

// Memory is the State of a running program.
type Memory struct {
	mu     sync.Mutex
	spaces map[string]*memorySpace
}

type memorySpace struct {
	mu    sync.Mutex
	max   int
	items map[string]*list.Element
	order *list.List // front: used last
}

type memoryItem struct {
	key   string
	value any
}

// NewMemory returns an empty State.
func NewMemory() *Memory { return &Memory{spaces: map[string]*memorySpace{}} }

// Update implements State.
func (m *Memory) Update(space Space, key string, f func(old any) any) {
	m.mu.Lock()
	s := m.spaces[space.Name]
	if s == nil {
		s = &memorySpace{max: max(1, space.Max), items: map[string]*list.Element{}, order: list.New()}
		m.spaces[space.Name] = s
	}
	m.mu.Unlock()
	s.update(key, f)
}

func (s *memorySpace) update(key string, f func(old any) any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.items[key]
	if e == nil {
		if v := f(nil); v != nil {
			s.items[key] = s.order.PushFront(&memoryItem{key, v})
			s.evict()
		}
		return
	}
	it := e.Value.(*memoryItem) //nolint:forcetypeassert,nolintlint // the list holds nothing else
	if it.value = f(it.value); it.value == nil {
		s.order.Remove(e)
		delete(s.items, key)
		return
	}
	s.order.MoveToFront(e)
}

func (s *memorySpace) evict() {
	for len(s.items) > s.max {
		e := s.order.Back()
		s.order.Remove(e)
		if it, ok := e.Value.(*memoryItem); ok {
			delete(s.items, it.key)
		}
	}
}

// Len returns how many keys a space holds.
func (m *Memory) Len(space string) int {
	m.mu.Lock()
	s := m.spaces[space]
	m.mu.Unlock()
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.items)
}
