package resilience

import (
	"sort"
	"time"

	"breakwater/resilience/outcome"
)

// egressWindow is how far back the last known egress address of a connection
// counts (guide §7).
const egressWindow = 24 * time.Hour

// egress is the address a connection left by when it was last seen.
type egress struct {
	ip string
	at time.Time
}

// SetEgress notes by which address a connection left, and when. An older
// sighting than the known one is ignored.
func (e *Engine) SetEgress(c *Conn, ip string, at time.Time) {
	if old := c.egress.Load(); ip == "" || old != nil && old.at.After(at) {
		return
	}
	c.egress.Store(&egress{ip: ip, at: at})
}

// spread cools the siblings that leave by the same address as the connection
// whose quota is used up (sheet §3.11, step 12). Terminal ones and those that
// cool for longer stay as they are.
func (e *Engine) spread(from *Conn, now time.Time, o outcome.Outcome) {
	mine := from.egress.Load()
	if mine == nil || now.Sub(mine.at) > egressWindow {
		return
	}
	for _, c := range e.allConns() {
		its := c.egress.Load()
		if c == from || its == nil || its.ip != mine.ip || now.Sub(its.at) > egressWindow || !c.cfg.Load().EgressShared {
			continue
		}
		c.join(e, now, o)
	}
}

// join cools one sibling.
func (c *Conn) join(e *Engine, now time.Time, o outcome.Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.state.Status
	r := c.state.Extend(now, o, o.Cooldown, c.cfg.Load().rules)
	if r.Written {
		c.changed(e)
		c.announce(e, now, o, before, r)
	}
}

// allConns returns the handles of all connections, sorted by id.
func (e *Engine) allConns() []*Conn {
	e.mu.RLock()
	defer e.mu.RUnlock()
	all := make([]*Conn, 0, len(e.conns))
	for _, c := range e.conns {
		all = append(all, c)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].id < all[j].id })
	return all
}
