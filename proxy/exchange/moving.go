package exchange

import (
	"slices"

	"breakwater/proxy/attempt"
	"breakwater/proxy/control"
	"breakwater/proxy/history"
	"breakwater/resilience"
	"breakwater/resilience/exclusion"
)

// conversation is what is known of who made the request's conversation (ruling
// 61), nil while it is sent as it is.
func (r *run) conversation() *history.Conversation {
	if !r.Settings.InForce().Failover.MoveHistory {
		return nil
	}
	if r.talk == nil {
		r.talk = r.History.Conversation(r.req.Dialect, len(r.owners()))
	}
	return r.talk
}

// owners are the connections that speak the request's dialect, whatever state
// they are in.
func (r *run) owners() []*control.Route {
	return slices.DeleteFunc(slices.Clone(r.Connections.Routes()), func(route *control.Route) bool {
		_, ok := route.Endpoint(r.req.Dialect)
		return !ok
	})
}

// historyAt is the conversation as the attempt at a candidate sees it.
func (r *run) historyAt(c *candidate) attempt.History {
	talk := r.conversation()
	if talk == nil {
		return nil
	}
	return talk.Visit(history.Owner{ID: c.route.Record.ID, Vendor: c.route.Provider.Vendor()})
}

// keepHome excludes the targets that cannot read the encrypted compaction in the
// request, as long as there is a connection that can.
func (r *run) keepHome(plan *resilience.Plan) {
	talk := r.conversation()
	if talk == nil || r.Settings.InForce().Failover.MoveCompacted {
		return
	}
	raw := r.sent.Body.Raw
	foreign := func(t resilience.Target) bool { return talk.Compacted(raw, t.Conn.ID()) }
	if !slices.ContainsFunc(plan.Targets, foreign) || !slices.ContainsFunc(r.owners(), func(route *control.Route) bool {
		return !talk.Compacted(raw, route.Record.ID)
	}) {
		return
	}
	plan.Targets = slices.DeleteFunc(plan.Targets, func(t resilience.Target) bool {
		if !foreign(t) {
			return false
		}
		plan.Excluded = append(plan.Excluded, resilience.Exclusion{
			Candidate: t, Exclusion: exclusion.Exclusion{Reason: exclusion.CompactedHistory},
		})
		return true
	})
}
