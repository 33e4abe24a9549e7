package combo

import (
	"container/list"
	"maps"
	"reflect"
	"slices"
)

// Trial returns a State for a look ahead: it begins with what st keeps, and what
// is changed in it stays in it. st is only read; it does not even learn that a
// key was of use, and nobody is told of a last good place.
func (st *State) Trial() *State {
	trial := NewState()
	for i := range trial.spaces {
		trial.spaces[i].under = &borrowed{from: &st.spaces[i], read: map[string]bool{}}
	}
	return trial
}

// borrowed is the space that one of a trial begins with.
type borrowed struct {
	from *space
	read map[string]bool // keys that were looked at there
}

// borrow copies a key's value on the first look at it; nil when there is none.
// A key that was forgotten since is not copied again.
func (s *space) borrow(key string) *list.Element {
	if s.under.read[key] {
		return nil
	}
	s.under.read[key] = true
	v := s.under.from.copyOf(key)
	if v == nil {
		return nil
	}
	s.items[key] = s.order.PushFront(&item{key, v})
	s.evict()
	return s.items[key]
}

// copyOf returns a copy of the value under a key without making it the one that
// was used last.
func (s *space) copyOf(key string) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.items[key]
	if e == nil {
		return nil
	}
	return clone(e.Value.(*item).value) //nolint:forcetypeassert,nolintlint // the list holds nothing else
}

// clone copies what a strategy remembers. Values are pointers to plain structs;
// those that hold a map or a list are told apart here.
func clone(v any) any {
	switch v := v.(type) {
	case *ward:
		return new(maps.Clone(*v))
	case *deficits:
		return new(maps.Clone(*v))
	case *deck:
		d := *v
		d.cards = slices.Clone(v.cards)
		return &d
	}
	from := reflect.ValueOf(v)
	to := reflect.New(from.Type().Elem())
	to.Elem().Set(from.Elem())
	return to.Interface()
}
