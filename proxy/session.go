package proxy

import (
	"time"

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
// only when something depends on it and no header tells.
func (x *exchange) joinSession(needed bool) {
	ttl := x.s.svc.AffinityTTL()
	if ttl == 0 && !needed && x.s.svc.Affinity().Len() == 0 {
		return
	}
	key := affinity.Key(x.r.Header.Get, affinity.Body{})
	if key == "" {
		c := x.rt.dialect.Content(x.body.Raw)
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
		key = affinity.Key(x.r.Header.Get, b)
	}
	x.session = session{key: key, ttl: ttl}
}

// choose returns which of the targets is tried next: the first, or with session
// affinity the one of the first's provider that the session is pinned to.
func (x *exchange) choose(left []resilience.Target) int {
	if x.session.key == "" || x.session.ttl <= 0 || x.rt.probe {
		return 0
	}
	svc, provider := x.s.svc, left[0].Conn.Provider()
	var list []affinity.Candidate
	for i, t := range left {
		if t.Conn.Provider() == provider {
			list = append(list, affinity.Candidate{ID: t.Conn.ID(), Priority: i})
		}
	}
	c := svc.Affinity().Select(svc.Now(), x.session.ttl, provider, x.session.key, "", list)
	for i, t := range left {
		if t.Conn.ID() == c.ID {
			return i
		}
	}
	return 0
}

// leave unties the session from a connection that has failed, also while
// affinity is switched off (settings sheet §3).
func (t *attempt) leave(o outcome.Outcome) {
	s := t.x.session
	if s.key == "" || o.Class != outcome.Failure {
		return
	}
	id := t.route.Record.ID
	t.x.s.svc.Affinity().Evict(t.route.Conn.Provider(), s.key, id)
	t.x.s.svc.Occupancy().Leave(s.key, id)
}

// seat notes that the session is served by the connection (ruling 53).
func (t *attempt) seat() {
	if t.x.session.key != "" && t.oauth() && !t.x.rt.probe {
		t.x.s.svc.Occupancy().Seat(t.x.s.svc.Now(), t.x.session.key, t.route.Record.ID)
	}
}

func (t *attempt) oauth() bool { return t.route.Provider.Profile == settings.OAuth }
