package exchange

import (
	"sync"
	"time"
)

// memory is a bounded set whose members are forgotten after a while. Its zero
// value is ready, and safe for concurrent use.
type memory[K comparable] struct {
	mu    sync.Mutex
	until map[K]time.Time
	// order holds the keys as they came, the oldest first.
	order []K
}

// memorySize bounds each memory of opinions (ruling 55).
const memorySize = 4096

// add remembers k until then; the oldest goes when the memory is full.
func (m *memory[K]) add(k K, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.until == nil {
		m.until = map[K]time.Time{}
	}
	if _, known := m.until[k]; !known {
		for len(m.order) >= memorySize {
			delete(m.until, m.order[0])
			m.order = m.order[1:]
		}
		m.order = append(m.order, k)
	}
	m.until[k] = until
}

// has reports whether k is remembered now.
func (m *memory[K]) has(k K, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.until[k].After(now)
}

func (m *memory[K]) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.until)
	m.order = nil
}
