package combo

import (
	"container/list"
	"sync"
)

// State is what strategies remember between requests. It is memory of the
// process, lost on restart; what must survive is written by the caller (see
// WatchGood). It is safe for concurrent use.
type State struct {
	spaces []space // one for each slot
	told   func(combo, id string, g Good)
}

// space is a part of a State. It holds at most max keys; beyond them the one
// that was not used for longest goes.
type space struct {
	mu    sync.Mutex
	max   int
	items map[string]*list.Element
	order list.List // front: used last
	under *borrowed // of a trial; nil otherwise
}

type item struct {
	key   string
	value any
}

// rooms are how many keys each slot may hold.
var rooms []int

// NewState returns an empty State.
func NewState() *State {
	st := &State{spaces: make([]space, len(rooms))}
	for i := range st.spaces {
		st.spaces[i].max, st.spaces[i].items = rooms[i], map[string]*list.Element{}
	}
	return st
}

// update calls f with the value kept under key, nil if none, and keeps what f
// returns; nil forgets the key. Calls follow one another; f must not call the
// State again.
func (s *space) update(key string, f func(old any) any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.items[key]
	if e == nil && s.under != nil {
		e = s.borrow(key)
	}
	if e == nil {
		if v := f(nil); v != nil {
			s.items[key] = s.order.PushFront(&item{key, v})
			s.evict()
		}
		return
	}
	it := e.Value.(*item) //nolint:forcetypeassert,nolintlint // the list holds nothing else
	if it.value = f(it.value); it.value == nil {
		s.order.Remove(e)
		delete(s.items, key)
		return
	}
	s.order.MoveToFront(e)
}

func (s *space) evict() {
	for len(s.items) > s.max {
		e := s.order.Back()
		s.order.Remove(e)
		if it, ok := e.Value.(*item); ok {
			delete(s.items, it.key)
		}
	}
}

// A slot is the place of one kind of value in every State. The functions that
// are handed to it live on the stack of the caller: every request passes here
// many times.
type slot[T any] int

// newSlot declares a slot of at most room keys. It is called while the package
// is set up.
func newSlot[T any](room int) slot[T] {
	rooms = append(rooms, room)
	return slot[T](len(rooms) - 1)
}

func (s slot[T]) in(st *State) *space { return &st.spaces[s] }

// do lends the value under key to f, a fresh one if there is none. f returns
// whether the value is kept.
func (s slot[T]) do(st *State, key string, f func(v *T) bool) {
	s.in(st).update(key, func(old any) any {
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
func (s slot[T]) get(st *State, key string) (out T, ok bool) {
	s.peek(st, key, func(v *T) { out, ok = *v, true })
	return out, ok
}

// peek lends the value under key to f, if there is one.
func (s slot[T]) peek(st *State, key string, f func(v *T)) {
	s.in(st).update(key, func(old any) any {
		if v, ok := old.(*T); ok {
			f(v)
		}
		return old
	})
}

// drop forgets the value under key.
func (s slot[T]) drop(st *State, key string) {
	s.in(st).update(key, func(any) any { return nil })
}
