package exchange

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"breakwater/proxy/control"
	"breakwater/resilience"
	"breakwater/resilience/classify"
	"breakwater/resilience/combo"
)

// How long what was learned from opinions is remembered (ruling 55 d).
const (
	refusedFor   = time.Minute      // a body that two targets have refused
	askedLastFor = 10 * time.Minute // a target whose refusal another one did not share
)

// opinions is what second opinions have taught. Both memories are emptied when a
// connection or a combo changes.
type opinions struct {
	refused   memory[[sha256.Size]byte]
	askedLast memory[refuser]
	some      atomic.Bool // askedLast may hold something

	mu      sync.Mutex
	secret  []byte // of this process
	routes  *control.Route
	planner *combo.Planner
	count   int
}

// refuser is a target that refused what another one served in a session.
type refuser struct{ session, connection, model string }

// fresh empties the memories when connections or combos have changed since the
// last look: both are replaced whole by a change.
func (o *opinions) fresh(routes []*control.Route, planner *combo.Planner) {
	var first *control.Route
	if len(routes) > 0 {
		first = routes[0]
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.routes == first && o.planner == planner && o.count == len(routes) {
		return
	}
	o.routes, o.planner, o.count = first, planner, len(routes)
	o.refused.clear()
	o.askedLast.clear()
	o.some.Store(false)
}

// digest identifies a request for the targets that it has: a keyed hash, so that
// nothing of a body can be found in memory.
func (o *opinions) digest(body []byte, beta string, model string) (sum [sha256.Size]byte) {
	o.mu.Lock()
	if o.secret == nil {
		o.secret = make([]byte, sha256.Size)
		_, _ = rand.Read(o.secret) // it never fails
	}
	h := hmac.New(sha256.New, o.secret)
	o.mu.Unlock()
	for _, part := range [][]byte{body, []byte(beta), []byte(model)} {
		h.Write(part)
		h.Write([]byte{0})
	}
	h.Sum(sum[:0])
	return sum
}

// opinion is the second opinion of one request: what refused it first.
type opinion struct {
	first resilience.Failure
	by    refuser
}

// accountObjects are fields that name what only one account has: no other target
// could serve them.
var accountObjects = [][]byte{
	[]byte(`"previous_response_id":"`), []byte(`"previous_response_id": "`), []byte(`"conversation":`), []byte(`"file_id":`),
	[]byte(`"container":`), []byte(`"vector_store_ids":`),
}

// unlisted reports whether a refusal is one that no row of the classifier's table
// knows: it is not believed alone.
func unlisted(f *resilience.Failure) bool {
	return f.Outcome.Row == classify.RowUnlisted && f.Answered() && f.Outcome.Status == http.StatusBadRequest &&
		classify.OnBadRequest(f.Body) != classify.AdvanceLarger // only a larger window helps (ruling 55 c)
}

// wanted reports whether the next target of the plan is asked for a second
// opinion about a refusal.
func (o *opinions) wanted(r *run, f *resilience.Failure) bool {
	if r.opinion != nil || r.req.Probe || f.Passthrough || !unlisted(f) || !r.Settings.InForce().Failover.SecondOpinion {
		return false
	}
	for _, field := range accountObjects {
		if bytes.Contains(r.sent.Body.Raw, field) {
			return false
		}
	}
	o.fresh(r.Connections.Routes(), r.Combos.Planner())
	return !o.refused.has(o.digestOf(r), r.Clock.Now())
}

func (o *opinions) digestOf(r *run) [sha256.Size]byte {
	return o.digest(r.sent.Body.Raw, r.req.Header.Get("Anthropic-Beta"), r.sent.Body.Model)
}

// ask begins the second opinion.
func (o *opinions) ask(r *run, c *candidate, f *resilience.Failure) {
	f.Opinion = true
	r.opinion = &opinion{first: *f, by: refuser{connection: c.route.Record.ID, model: c.model}}
	r.step(control.Step{Kind: control.StepOpinion, Status: f.Outcome.Status, Model: c.model}, c.route)
}

// confirm reports whether a later failure of the request confirms the first
// refusal: another target found fault with the request, too. A fault of its own
// says nothing.
func (o *opinions) confirm(r *run, f *resilience.Failure) bool {
	return r.opinion != nil && f.Answered() && f.RefusesRequest() && f.Outcome.Status < http.StatusInternalServerError
}

// confirmed ends the request with the first refusal, also in combos, and
// remembers it so that its repetition costs one call.
func (o *opinions) confirmed(r *run) *ending {
	o.refused.add(o.digestOf(r), r.Clock.Now().Add(refusedFor))
	return r.forward(&r.opinion.first, false)
}

// overruled remembers the target whose refusal the answering one did not share:
// it is asked last for the session.
func (o *opinions) overruled(r *run) {
	if r.session.key == "" {
		r.joinSession(true)
	}
	if by := r.opinion.by; r.session.key != "" {
		by.session = r.session.key
		o.askedLast.add(by, r.Clock.Now().Add(askedLastFor))
		o.some.Store(true)
	}
}

// refusedBefore reports whether the target refused what another one served in
// this session.
func (o *opinions) refusedBefore(r *run, c *candidate) bool {
	if r.req.Hold != nil || r.req.Probe || !o.some.Load() || !r.Settings.InForce().Failover.SecondOpinion {
		return false
	}
	o.fresh(r.Connections.Routes(), r.Combos.Planner())
	if r.session.key == "" {
		r.joinSession(true)
	}
	return o.askedLast.has(refuser{r.session.key, c.route.Record.ID, c.model}, r.Clock.Now())
}
