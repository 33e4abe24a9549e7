package exchange

import (
	"time"

	"breakwater/proxy/dialect"
	"breakwater/resilience"
	"breakwater/resilience/affinity"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// session ties a request to those before it (guide, "Afinidad de sesión").
type session struct {
	key string        // empty: no session is known
	ttl time.Duration // 0: affinity is off
}

// joinSession finds out which session the request belongs to. The body is read
// only when something depends on it and no header says.
func (x *exchange) joinSession(needed bool) {
	ttl := x.Sessions.AffinityTTL()
	if ttl == 0 && !needed && x.Sessions.Affinity().Len() == 0 {
		return
	}
	get := x.req.Header.Get
	key := affinity.Key(get, affinity.Body{})
	if key == "" {
		c := dialect.NewContent(x.req.Dialect, x.req.Body.Raw)
		b := affinity.Body{
			MetadataSession: c.Text("metadata.session_id"), Conversation: c.Text("conversation_id"),
			Session: c.Text("session_id"), PromptCache: c.Text("prompt_cache_key"),
		}
		if b.MetadataSession == "" {
			b.MetadataSession = c.Text("metadata.sessionId")
		}
		if b == (affinity.Body{}) {
			b.FirstUserText = c.FirstUser()
		}
		key = affinity.Key(get, b)
	}
	x.session = session{key: key, ttl: ttl}
}

// choose returns which of the targets is tried next: the first, or with session
// affinity the one of the first's provider that the session is pinned to.
func (r *run) choose(targets []resilience.Target) int {
	if r.session.key == "" || r.session.ttl <= 0 || r.req.Probe {
		return 0
	}
	first := targets[0].Conn // only those that are no less wanted can come before it
	var list []affinity.Candidate
	for i, t := range targets {
		if t.Conn.Provider() == first.Provider() && t.Conn.AskedLast() == first.AskedLast() {
			list = append(list, affinity.Candidate{ID: t.Conn.ID(), Priority: i})
		}
	}
	c := r.Sessions.Affinity().Select(r.Clock.Now(), r.session.ttl, first.Provider(), r.session.key, "", list)
	for i, t := range targets {
		if t.Conn.ID() == c.ID {
			return i
		}
	}
	return 0
}

// leave unties the session from a connection that has failed, also while
// affinity is switched off (settings sheet §3).
func (r *run) leave(c *candidate, o outcome.Outcome) {
	if r.session.key == "" || o.Class != outcome.Failure {
		return
	}
	r.Sessions.Affinity().Evict(c.route.Conn.Provider(), r.session.key, c.route.Record.ID)
	r.Sessions.Occupancy().Leave(r.session.key, c.route.Record.ID)
}

// seat notes that the session is served by the connection (ruling 53).
func (r *run) seat(c *candidate) {
	if r.session.key != "" && c.route.Provider.Profile == settings.OAuth && !r.req.Probe {
		r.Sessions.Occupancy().Seat(r.Clock.Now(), r.session.key, c.route.Record.ID)
	}
}
