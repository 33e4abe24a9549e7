package combo

import (
	"context"
	"maps"
	"sync"
	"time"
)

// quotaFetches is how many snapshots are fetched at once.
const quotaFetches = 5

// QuotaCache reads quota snapshots for reset-aware routing and keeps them for
// as long as a combo allows. It is safe for concurrent use.
type QuotaCache struct {
	fetch func(ctx context.Context, connection string) (*Quota, error)

	mu      sync.Mutex
	kept    map[string]keptQuota
	pending map[string]bool // refreshed in the background at the moment
	work    sync.WaitGroup
}

type keptQuota struct {
	quota *Quota
	at    time.Time
}

// NewQuotaCache returns an empty cache. fetch reads one snapshot.
func NewQuotaCache(fetch func(ctx context.Context, connection string) (*Quota, error)) *QuotaCache {
	return &QuotaCache{fetch: fetch, kept: map[string]keptQuota{}, pending: map[string]bool{}}
}

// Read returns the snapshots of the given connections; one that is named twice
// is fetched once. A snapshot younger than ttl is used as it is. One that is at
// most maxStale older is used too, while a single refresh runs behind it. Any
// other is fetched now, five at a time; when that fails nothing is known of the
// connection. ctx bounds the fetches of this call, not the refresh.
func (c *QuotaCache) Read(ctx context.Context, now time.Time, ttl, maxStale time.Duration, connections []string) map[string]*Quota {
	out := make(map[string]*Quota, len(connections))
	var missing []string
	c.mu.Lock()
	for _, id := range connections {
		if _, twice := out[id]; twice || id == "" {
			continue
		}
		k, ok := c.kept[id]
		age := now.Sub(k.at)
		switch {
		case ok && ttl > 0 && age >= 0 && age <= ttl:
			out[id] = k.quota
		case ok && ttl > 0 && age >= 0 && age <= ttl+maxStale:
			out[id] = k.quota
			c.refresh(context.WithoutCancel(ctx), now, id)
		default:
			out[id] = nil
			missing = append(missing, id)
		}
	}
	c.mu.Unlock()
	maps.Copy(out, c.fetchAll(ctx, now, missing))
	return out
}

// refresh fetches a snapshot in the background, once at a time. The caller
// holds c.mu.
func (c *QuotaCache) refresh(ctx context.Context, now time.Time, id string) {
	if c.pending[id] {
		return
	}
	c.pending[id] = true
	c.work.Go(func() {
		q, err := c.fetch(ctx, id)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.pending, id)
		if err == nil {
			c.kept[id] = keptQuota{q, now}
		}
	})
}

func (c *QuotaCache) fetchAll(ctx context.Context, now time.Time, ids []string) map[string]*Quota {
	out := make(map[string]*Quota, len(ids))
	slots := make(chan struct{}, quotaFetches)
	var all sync.WaitGroup
	for _, id := range ids {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			q, err := c.fetch(ctx, id)
			c.mu.Lock()
			defer c.mu.Unlock()
			if err == nil {
				c.kept[id], out[id] = keptQuota{q, now}, q
			}
		})
	}
	all.Wait()
	return out
}

// Forget drops the snapshot of a connection.
func (c *QuotaCache) Forget(connection string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.kept, connection)
}

// Wait returns when no refresh is under way any more. It is called at the end,
// when nobody reads.
func (c *QuotaCache) Wait() { c.work.Wait() }
