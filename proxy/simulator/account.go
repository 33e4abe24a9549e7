package simulator

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Account is one upstream account of the simulator, with its own script,
// fault and records.
type Account struct {
	srv    *Server
	name   string
	strict bool // guarded by srv.mu: only the keys of SetKeys are taken

	mu      sync.Mutex
	script  []queued
	fault   Fault
	hits    int // requests that the fault still hits; negative is without end
	records []*Request
	count   Counters
	// subscribed is what Subscribe made of it.
	subscribed *subscription
	changed    chan struct{} // closed at the next change; nil while nobody waits
}

// queued is a step of a script with the number of uses it has left.
type queued struct {
	step Step
	left int // negative is without end
}

// Request is the record of one request as the simulator saw it.
type Request struct {
	Seq         int64       `json:"seq"` // counts all requests of the server
	Account     string      `json:"account"`
	Method      string      `json:"method"`
	Path        string      `json:"path"` // as sent, account prefix included
	Query       string      `json:"query,omitempty"`
	Header      http.Header `json:"header"`
	Body        []byte      `json:"body,omitempty"`
	BodySize    int         `json:"bodySize"` // bytes; Body may be shorter
	Route       Route       `json:"route"`
	Dialect     string      `json:"dialect,omitempty"`
	Model       string      `json:"model,omitempty"`
	Stream      bool        `json:"stream"`
	Answer      string      `json:"answer,omitempty"` // what it was answered with, such as "text" or "status 429"
	Status      int         `json:"status,omitempty"` // zero when no header was sent
	BytesSent   int64       `json:"bytesSent"`        // body bytes of the answer
	At          time.Time   `json:"at"`
	DoneAt      time.Time   `json:"doneAt,omitzero"`
	CancelledAt time.Time   `json:"cancelledAt,omitzero"` // when the client left before the end
}

// Counters count an account's requests since its start or reset.
type Counters struct {
	Requests  int64 `json:"requests"`
	Inference int64 `json:"inference"`
	InFlight  int64 `json:"inFlight"`
	OK        int64 `json:"ok"`     // answered 2xx to the end
	Failed    int64 `json:"failed"` // answered otherwise, or broken off by the script
	Cancelled int64 `json:"cancelled"`
	BytesSent int64 `json:"bytesSent"`
}

// Name returns the account's name.
func (a *Account) Name() string { return a.name }

// Key returns a credential that leads to this account whatever the path is.
func (a *Account) Key() string { return keyPrefix + a.name }

// BaseURL is the account's own base, to which "/messages", "/models" and so
// on are appended: http://127.0.0.1:PORT/a/NAME/v1. SDKs that add /v1 by
// themselves take it without its last part.
func (a *Account) BaseURL() string { return a.srv.BaseURL() + accountPath(a.name) + "/v1" }

// SetKeys makes keys the only credentials that the account takes, others get
// 401, and leads requests without an account path by them. No keys lifts it.
func (a *Account) SetKeys(keys ...string) *Account {
	s := a.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, v := range s.keys {
		if v == a {
			delete(s.keys, k)
		}
	}
	for _, k := range keys {
		s.keys[k] = a
	}
	a.strict = len(keys) > 0
	return a
}

// Script replaces the steps that answer the next requests. Each request takes
// the first step that fits it and has uses left; when none does, the default
// answers. It panics when the server has no encoder for a step's encoding.
func (a *Account) Script(steps ...Step) *Account {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.script = nil
	a.queue(steps)
	return a
}

// Then appends steps to the script.
func (a *Account) Then(steps ...Step) *Account {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queue(steps)
	return a
}

func (a *Account) queue(steps []Step) {
	for _, st := range steps {
		if err := a.srv.opts.knows(st.Encoding); err != nil {
			panic("simulator: " + err.Error())
		}
		left := st.Times
		if left == 0 {
			left = 1
		}
		a.script = append(a.script, queued{step: st, left: left})
	}
}

// Pending returns the steps of the script that are not used up, with Times
// set to what is left.
func (a *Account) Pending() []Step {
	a.mu.Lock()
	defer a.mu.Unlock()
	steps := make([]Step, 0, len(a.script))
	for _, q := range a.script {
		q.step.Times = q.left
		steps = append(steps, q.step)
	}
	return steps
}

// Fault sets the fault that hits the next requests, before any script. An
// unknown kind is an error and changes nothing.
func (a *Account) Fault(f Fault) error {
	if err := f.Validate(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if f.Kind == "" {
		f.Kind = FaultNone
	}
	a.fault, a.hits = f, f.Count
	if f.Count == 0 {
		a.hits = Forever
	}
	return nil
}

// CurrentFault returns the fault in force, its Count being the requests that
// it will still hit; zero is without end.
func (a *Account) CurrentFault() Fault {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.currentFault()
}

func (a *Account) currentFault() Fault {
	f := a.fault
	if f.Kind == "" || a.hits == 0 {
		return Fault{Kind: FaultNone}
	}
	f.Count = max(a.hits, 0)
	return f
}

// next takes the step that answers q from the fault or the script.
func (a *Account) next(q *request) (Step, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f := a.currentFault(); f.Kind != FaultNone && f.hits(q.route) {
		// Only inference uses up a counted fault: a connection test or a
		// token count must not eat what was meant for a turn.
		if a.hits > 0 && q.route == RouteInference {
			a.hits--
		}
		return f.step(q), true
	}
	for i := range a.script {
		if !a.script[i].step.fits(q) {
			continue
		}
		st := a.script[i].step
		if a.script[i].left > 0 {
			a.script[i].left--
		}
		if a.script[i].left == 0 {
			a.script = append(a.script[:i:i], a.script[i+1:]...)
		}
		return st, true
	}
	return Step{}, false
}

// Reset forgets script, fault, subscription, records and counters.
func (a *Account) Reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.script, a.fault, a.hits, a.records, a.subscribed = nil, Fault{}, 0, nil, nil
	a.count = Counters{InFlight: a.count.InFlight}
	a.notify()
}

// Requests returns what the account was asked so far, oldest first.
func (a *Account) Requests() []Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.copyRecords()
}

func (a *Account) copyRecords() []Request {
	rs := make([]Request, len(a.records))
	for i, r := range a.records {
		rs[i] = *r
	}
	return rs
}

// Counters returns the account's counters.
func (a *Account) Counters() Counters {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count
}

// Await blocks until ok holds for the account's records, which are passed to
// it at once and after every change, and returns them. It ends with the
// context's error when that ends first.
func (a *Account) Await(ctx context.Context, ok func([]Request) bool) ([]Request, error) {
	for {
		a.mu.Lock()
		if a.changed == nil {
			a.changed = make(chan struct{})
		}
		rs, changed := a.copyRecords(), a.changed
		a.mu.Unlock()
		if ok(rs) {
			return rs, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return rs, ctx.Err()
		}
	}
}

func (a *Account) notify() {
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

// begin opens the record of a request.
func (a *Account) begin(q *request, r *http.Request) *Request {
	opts := &a.srv.opts
	p := &Request{
		Seq: q.seq, Account: a.name, Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery,
		Header: r.Header.Clone(), BodySize: len(q.body), Route: q.route, Dialect: string(q.dialect.Traits().Name),
		Model: q.model, Stream: q.stream, At: q.now,
	}
	p.Header.Set("Host", r.Host)
	switch {
	case opts.KeepBody == 0 || opts.KeepBody >= len(q.body):
		p.Body = q.body
	case opts.KeepBody > 0:
		p.Body = append([]byte(nil), q.body[:opts.KeepBody]...) // a copy, so that the rest is freed
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count.Requests++
	a.count.InFlight++
	if q.route == RouteInference {
		a.count.Inference++
	}
	if opts.Keep > 0 {
		if len(a.records) >= opts.Keep {
			a.records[0] = nil
			a.records = a.records[1:]
		}
		a.records = append(a.records, p)
	}
	a.notify()
	return p
}

// cancelled notes that the client of p has gone.
func (a *Account) cancelled(p *Request, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.DoneAt.IsZero() {
		a.setCancelled(p, at)
		a.notify()
	}
}

func (a *Account) setCancelled(p *Request, at time.Time) {
	if p.CancelledAt.IsZero() {
		p.CancelledAt = at
		a.count.Cancelled++
	}
}

// ending is how the answer to a request ended.
type ending struct {
	step   Step
	status int
	bytes  int64
	at     time.Time
	broken bool // the script broke it off, or nothing could be written
	left   bool // the client went first
}

// end closes the record of a request.
func (a *Account) end(p *Request, e ending) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p.Answer, p.Status, p.BytesSent, p.DoneAt = e.step.String(), e.status, e.bytes, e.at
	a.count.InFlight--
	a.count.BytesSent += e.bytes
	switch {
	case e.left:
		a.setCancelled(p, e.at)
	case !p.CancelledAt.IsZero():
		// It closed the connection when it had everything: that is no
		// cancellation.
		p.CancelledAt = time.Time{}
		a.count.Cancelled--
	}
	switch {
	case !p.CancelledAt.IsZero():
	case e.broken || e.status < 200 || e.status > 299:
		a.count.Failed++
	default:
		a.count.OK++
	}
	a.notify()
}
