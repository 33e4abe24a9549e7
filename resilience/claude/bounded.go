package claude

import "slices"

// bounded is a map of at most maxKeys entries that gives up the oldest first.
type bounded[V any] struct {
	entries map[Key]*V
	order   []Key // oldest first
}

// get returns the entry, or nil.
func (b *bounded[V]) get(k Key) *V { return b.entries[k] }

// add puts an entry in and evicts the oldest one beyond the bound.
func (b *bounded[V]) add(k Key, v *V) {
	if b.entries == nil {
		b.entries = map[Key]*V{}
	}
	if _, known := b.entries[k]; !known {
		b.order = append(b.order, k)
	}
	b.entries[k] = v
	if len(b.order) > maxKeys {
		delete(b.entries, b.order[0])
		b.order = b.order[1:]
	}
}

// ensure returns the entry, a new one if there was none.
func (b *bounded[V]) ensure(k Key) *V {
	v := b.get(k)
	if v == nil {
		v = new(V)
		b.add(k, v)
	}
	return v
}

// of returns the keys of a connection, oldest first.
func (b *bounded[V]) of(connection string) []Key {
	var keys []Key
	for _, k := range b.order {
		if k.Connection == connection {
			keys = append(keys, k)
		}
	}
	return keys
}

// forget drops a connection.
func (b *bounded[V]) forget(connection string) {
	for _, k := range b.of(connection) {
		delete(b.entries, k)
	}
	b.order = slices.DeleteFunc(b.order, func(k Key) bool { return k.Connection == connection })
}
