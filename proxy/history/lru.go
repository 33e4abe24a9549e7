package history

import (
	"container/list"
	"time"
)

// lru is a bounded map that forgets what was not touched for longest, and
// everything that was not touched for its lifetime. The zero value is not
// usable; it is not safe for concurrent use.
type lru[K comparable, V any] struct {
	size  int
	life  time.Duration
	order *list.List // the most recent first
	at    map[K]*list.Element
	// gone is called with what is removed; nil does nothing.
	gone func(V)
}

type kept[K comparable, V any] struct {
	key     K
	value   V
	touched time.Time
}

func newLRU[K comparable, V any](size int, life time.Duration) *lru[K, V] {
	return &lru[K, V]{size: size, life: life, order: list.New(), at: map[K]*list.Element{}}
}

// get returns what is kept under a key, nil for nothing, and leaves its age
// alone.
func (l *lru[K, V]) get(now time.Time, key K) *V {
	e, ok := l.at[key]
	if !ok {
		return nil
	}
	one := e.Value.(*kept[K, V]) //nolint:forcetypeassert // nothing else is put in
	if now.Sub(one.touched) >= l.life {
		l.remove(key)
		return nil
	}
	return &one.value
}

// touch returns what is kept under a key, made when there is nothing, and begins
// its lifetime.
func (l *lru[K, V]) touch(now time.Time, key K) *V {
	v := l.get(now, key)
	if v == nil {
		e := l.order.PushFront(&kept[K, V]{key: key, touched: now})
		l.at[key] = e
		if l.order.Len() > l.size {
			l.remove(l.order.Back().Value.(*kept[K, V]).key) //nolint:forcetypeassert // the same
		}
		return &e.Value.(*kept[K, V]).value //nolint:forcetypeassert // the same
	}
	e := l.at[key]
	e.Value.(*kept[K, V]).touched = now //nolint:forcetypeassert // the same
	l.order.MoveToFront(e)
	return v
}

func (l *lru[K, V]) remove(key K) {
	if e, ok := l.at[key]; ok {
		l.order.Remove(e)
		delete(l.at, key)
		if l.gone != nil {
			l.gone(e.Value.(*kept[K, V]).value) //nolint:forcetypeassert // the same
		}
	}
}

func (l *lru[K, V]) len() int { return l.order.Len() }
