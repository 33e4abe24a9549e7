package combo

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// meter counts fetches and answers with the number of the fetch.
type meter struct {
	mu    sync.Mutex
	calls map[string]int
	err   error
	busy  atomic.Int32
	peak  atomic.Int32
	slow  time.Duration
}

func (m *meter) fetch(ctx context.Context, id string) (*Quota, error) {
	n := m.busy.Add(1)
	defer m.busy.Add(-1)
	for p := m.peak.Load(); n > p && !m.peak.CompareAndSwap(p, n); p = m.peak.Load() {
	}
	if m.slow > 0 {
		select {
		case <-time.After(m.slow):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls[id]++
	return weekly(float64(m.calls[id])/10, day), m.err
}

func newMeter() *meter { return &meter{calls: map[string]int{}} }

func TestQuotaCache(t *testing.T) {
	t.Run("case 63 the same connection on two steps is fetched once", func(t *testing.T) {
		m := newMeter()
		c := NewQuotaCache(m.fetch)
		got := c.Read(t.Context(), t0, 0, 0, []string{"a", "b", "a", ""})
		if len(got) != 2 || m.calls["a"] != 1 || m.calls["b"] != 1 {
			t.Error(got, m.calls)
		}
		c.Read(t.Context(), t0, 0, 0, []string{"a"})
		if m.calls["a"] != 2 {
			t.Error("cached though the TTL is 0")
		}
	})
	t.Run("case 64 a stale snapshot is used while it is refreshed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := newMeter()
			c := NewQuotaCache(m.fetch)
			ttl, stale := time.Millisecond, time.Minute
			c.Read(t.Context(), t0, ttl, stale, []string{"a"})
			if got := c.Read(t.Context(), t0.Add(ttl), ttl, stale, []string{"a"}); got["a"].Weekly.Used != .1 || m.calls["a"] != 1 {
				t.Error("a fresh one is not used", got)
			}
			m.slow = time.Second
			for range 3 { // one refresh for all
				got := c.Read(t.Context(), t0.Add(10*time.Second), ttl, stale, []string{"a"})
				if got["a"].Weekly.Used != .1 {
					t.Error("not the stale one", got)
				}
			}
			c.Wait()
			if m.calls["a"] != 2 {
				t.Errorf("%d fetches", m.calls["a"])
			}
			m.slow = 0
			if got := c.Read(t.Context(), t0.Add(10*time.Second), ttl, stale, []string{"a"}); got["a"].Weekly.Used != .2 {
				t.Error("not the refreshed one", got)
			}
			if got := c.Read(t.Context(), t0.Add(time.Hour), ttl, stale, []string{"a"}); got["a"].Weekly.Used != .3 {
				t.Error("too old and still used", got)
			}
		})
	})
	t.Run("five at a time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := newMeter()
			m.slow = time.Second
			ids := make([]string, 12)
			for i := range ids {
				ids[i] = string(rune('a' + i))
			}
			began := time.Now()
			if got := NewQuotaCache(m.fetch).Read(t.Context(), t0, 0, 0, ids); len(got) != 12 || got["l"] == nil {
				t.Error(got)
			}
			if d := time.Since(began); d != 3*time.Second || m.peak.Load() != 5 {
				t.Error(d, m.peak.Load())
			}
		})
	})
	t.Run("a failed fetch is nothing known", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := newMeter()
			c := NewQuotaCache(m.fetch)
			m.err = errors.New("no")
			if got := c.Read(t.Context(), t0, time.Minute, 0, []string{"a"}); got["a"] != nil {
				t.Error(got)
			}
			m.err = nil
			c.Read(t.Context(), t0, time.Minute, time.Hour, []string{"a"})
			m.err = errors.New("no")
			c.Read(t.Context(), t0.Add(2*time.Minute), time.Minute, time.Hour, []string{"a"})
			c.Wait()
			if got := c.Read(t.Context(), t0.Add(2*time.Minute), time.Minute, time.Hour, []string{"a"}); got["a"] == nil {
				t.Error("a failed refresh loses the old snapshot")
			}
			c.Wait()
			c.Forget("a")
			if got := c.Read(t.Context(), t0, time.Minute, time.Hour, []string{"a"}); got["a"] != nil {
				t.Error("not forgotten")
			}
		})
	})
}
