package exchange

import (
	"slices"
	"time"

	"breakwater/proxy/attempt"
	"breakwater/proxy/catalog"
	"breakwater/proxy/control"
	"breakwater/resilience"
	"breakwater/resilience/claude"
	"breakwater/resilience/combo"
	"breakwater/resilience/slow"
)

// claudeFirstByte is what a Claude subscription outside its lane gets (ruling
// 69).
const claudeFirstByte = 240 * time.Second

// silenceLimit shortens the wait for a cloud target's first byte while another
// target may serve (ruling 69).
func (r *run) silenceLimit(route *control.Route, limit time.Duration) time.Duration {
	set := &r.Settings.InForce().Failover
	if !set.SlowDemotion || r.req.Probe || route.Nearby() || r.Connections.InLane(route.Record.ID) {
		return limit
	}
	first := time.Duration(set.FirstByteMs) * time.Millisecond
	if route.Provider.ID == claude.ProviderID {
		first = max(first, claudeFirstByte)
	}
	budget := slow.Budget(first, len(r.sent.Body.Raw), r.req.Profile.GivesUp)
	if limit <= 0 {
		return budget
	}
	return min(limit, budget)
}

// demotes reports whether a candidate is asked after all others because it was
// slow. That never overrides a lease, the client's own login or the lane, and a
// session's pin only after two strikes.
func (r *run) demotes(c *candidate) bool {
	if r.req.Hold != nil || r.req.Probe || !r.Settings.InForce().Failover.SlowDemotion ||
		c.route.Credential() == catalog.PassthroughCredential {
		return false
	}
	now := r.Clock.Now()
	e, ok := r.Slow.Slow(now, slowKey(c))
	if !ok || r.Connections.InLane(c.route.Record.ID) {
		return false
	}
	if e.Strikes < 2 && r.session.key != "" && r.session.ttl > 0 {
		pin, pinned := r.Sessions.Affinity().Lookup(now, r.session.ttl, c.route.Conn.Provider(), r.session.key)
		return !pinned || pin != c.route.Record.ID
	}
	return true
}

// demote moves targets that are slow, or that refused what another one served in
// this session, behind the others, in their order.
func (r *run) demote(all []*candidate, targets []resilience.Target) {
	defer resilience.LastLast(targets) // who needs attention comes even after them (ruling 62)
	var last []resilience.Target
	first := slices.DeleteFunc(targets, func(t resilience.Target) bool {
		c := candidateOf(all, t.Conn)
		late := r.demotes(c) || r.opinions.refusedBefore(r, c)
		if late {
			last = append(last, t)
		}
		return late
	})
	copy(targets[len(first):], last)
}

// observeSilence records what an attempt says about the target's speed.
func (r *run) observeSilence(c *candidate, res attempt.Result) {
	if r.req.Probe || !r.Settings.InForce().Failover.SlowDemotion || !r.sent.Body.Stream {
		return
	}
	now, k := r.Clock.Now(), slowKey(c)
	switch {
	case res.End == attempt.Answered:
		r.Slow.Answered(k)
	case res.End == attempt.Failed && res.Silent:
		r.Slow.Overdue(now, k)
		r.Records.MarkUse() // the state is shown
	case res.End == attempt.Left && r.out.firstTokenMs(r.req.Began) < 0 && slow.NearLimit(time.Since(r.req.Began), r.req.Profile.GivesUp):
		r.Slow.LostClient(now, k)
	}
}

// defers reports whether a target of a combo is tried after the others: all the
// connections that it may use now are slow.
func (p *comboPlan) defers(r *run, t *combo.Target) bool {
	if !r.Slow.Any() && !r.opinions.some.Load() {
		return false
	}
	list, _ := p.candidates(r, t)
	now := r.split(list)
	return len(now.Targets) > 0 && !slices.ContainsFunc(now.Targets, func(e resilience.Target) bool {
		c := candidateOf(list, e.Conn)
		return !r.demotes(c) && !r.opinions.refusedBefore(r, c)
	})
}

func slowKey(c *candidate) slow.Key { return slow.Key{Connection: c.route.Record.ID, Model: c.model} }
