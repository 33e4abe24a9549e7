package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"breakwater/proxy"
	"breakwater/proxy/control"
	"breakwater/proxy/upstream"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/clock"
	"breakwater/resilience/combo"
)

// Plan is one run.
type Plan struct {
	Strategy combo.Name // empty: no combo, the model of one provider
	Requests int
	Day      time.Duration
	Seed     uint64
	// Calm leaves out faults, limits, sessions and clients that leave.
	Calm bool
}

// Quick and Day are the two sizes of a run.
var (
	Quick = Plan{Requests: 2000, Day: 144 * time.Minute, Seed: 1}
	Day   = Plan{Requests: 20_000, Day: 24 * time.Hour, Seed: 1}
)

// Result is what came of a run.
type Result struct {
	Strategy combo.Name
	Requests int // of clients that stayed
	Served   int
	Left     int // clients that went away
	Calls    int // that reached an account
	Most     int // at once at one account
	// Over and Disturbed count the calls that broke a limit of an account, and
	// those to an account that had asked to be left alone. Both must be 0.
	Over, Disturbed int
	// Own are refusals that a limit of the combo asked for, Missed those of
	// requests that a target could have served at that moment.
	Own, Missed int
	// Codes are the refusals and failures by their word.
	Codes map[string]int
	// Shares is how many requests each account served.
	Shares []int
	Wait   []time.Duration // until the end of the answer, by request
}

// straight keeps an outbound proxy of the environment out of the simulation.
func straight(*http.Request) (*url.URL, error) { return nil, nil }

// run is a simulation under way.
type run struct {
	plan   Plan
	world  *world
	svc    *control.Service
	handle http.Handler
	model  string

	mu  sync.Mutex
	res Result
	why []string // the traces of missed requests
	// panics are what broke in the proxy.
	panics []string
}

// Run plays a plan inside a synctest bubble.
func Run(t *testing.T, p Plan) Result {
	t.Helper()
	r := &run{plan: p, world: newWorld(p.Seed, time.Now(), p.Day, p.Calm)}
	r.res = Result{Strategy: p.Strategy, Codes: map[string]int{}}
	st := newStore(t, r.world.records())
	defer st.close(t)
	log := slog.New(slog.DiscardHandler)
	svc, err := control.New(t.Context(), control.Config{
		Store: st, Secrets: noSecrets{}, Log: log, Version: "simulation", Endpoint: "http://127.0.0.1:7411", Clock: clock.System{},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	r.svc = svc
	st.finished = r.finished
	r.addCombo(t)
	go func() { _ = r.world.server.Serve(r.world) }() // ends with Close
	defer func() { _ = r.world.server.Close() }()     // nothing is left to be told
	up := upstream.New(upstream.Options{Dial: r.world.dial, Proxy: straight})
	defer up.Close()
	limits := proxy.LimitsOf(svc.InForce().Timeouts)
	limits.Headers = 30 * time.Second
	r.handle = proxy.New(proxy.Options{Service: svc, Upstream: up, Log: log, Limits: limits}).Handler()
	r.drive()
	r.rest(t)
	return r.result(t)
}

// drive sends the day's requests and waits for the last answer.
func (r *run) drive() {
	start := time.Now()
	rng := dice(r.plan.Seed, 2)
	var all sync.WaitGroup
	for i, at := range arrivals(rng, r.plan) {
		<-time.After(time.Until(start.Add(at)))
		q := r.request(rng, i)
		all.Go(func() { r.send(q) })
	}
	all.Wait()
}

// arrivals are the moments at which requests come: two in five in bursts.
func arrivals(rng *rand.Rand, p Plan) []time.Duration {
	list := make([]time.Duration, 0, p.Requests)
	for len(list) < p.Requests {
		at := time.Duration(rng.Int64N(int64(p.Day)))
		list = append(list, at)
		if !p.Calm && rng.IntN(30) == 0 {
			for n := 5 + rng.IntN(30); n > 0 && len(list) < p.Requests; n-- {
				list = append(list, at+time.Duration(rng.Int64N(int64(3*time.Second))))
			}
		}
	}
	slices.Sort(list)
	return list
}

// request is one request of a client.
type request struct {
	body, session string
	patience      time.Duration // 0: without end
}

func (r *run) request(rng *rand.Rand, i int) request {
	q := request{body: fmt.Sprintf(`{"model":%q,"stream":%v,"messages":[{"role":"user","content":"Question %d"}]}`, r.model, rng.IntN(10) < 7, i)}
	if r.plan.Calm {
		return q
	}
	if rng.IntN(3) == 0 {
		q.session = fmt.Sprintf("session-%d", rng.IntN(200))
	}
	if rng.IntN(50) == 0 {
		q.patience = time.Duration(rng.Int64N(int64(4 * time.Second)))
	}
	return q
}

func (r *run) send(q request) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if q.patience > 0 {
		timer := time.AfterFunc(q.patience, cancel)
		defer timer.Stop()
	}
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:7411/v1/chat/completions", strings.NewReader(q.body))
	req.RemoteAddr = "127.0.0.1:50000"
	req.Header.Set("Content-Type", "application/json")
	if q.session != "" {
		req.Header.Set("X-Session-Id", q.session)
	}
	defer func() {
		v := recover()
		if err, ok := v.(error); v != nil && !(ok && errors.Is(err, http.ErrAbortHandler)) { // that is how an answer is cut off
			r.broken(fmt.Sprintf("%v\n%s", v, debug.Stack()))
		}
	}()
	r.handle.ServeHTTP(httptest.NewRecorder(), req)
}

// broken keeps a panic of the proxy.
func (r *run) broken(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.panics = append(r.panics, what)
}

// own are the words of refusals for a limit that the user or the combo has set.
var own = map[string]bool{"semaphore_timeout": true, "semaphore_queue_full": true, "rate_limit_queue_full": true, "rate_limit_queue_timeout": true}

// finished takes a finished request into the count.
func (r *run) finished(a control.Activity) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.Result == "client_left" {
		r.res.Left++
		return
	}
	r.res.Requests++
	r.res.Wait = append(r.res.Wait, time.Duration(a.DurationMs)*time.Millisecond)
	if a.Result == "answered" {
		r.res.Served++
		return
	}
	word := wordOf(a)
	r.res.Codes[word]++
	missed, ruled := r.admissible(a)
	switch {
	case missed != "":
		r.res.Missed++
		if len(r.why) < 5 {
			r.why = append(r.why, fmt.Sprintf("%s at %s could have served: %s", missed, time.Now().Format(time.TimeOnly), trace(a)))
		}
	case own[word] || ruled:
		r.res.Own++
	}
}

// wordOf is the last word of a request that was not served.
func wordOf(a control.Activity) string {
	for _, s := range slices.Backward(a.Trace) {
		if s.Reason != "" {
			return strings.ToLower(s.Reason)
		}
	}
	return a.Result
}

func trace(a control.Activity) string {
	var b strings.Builder
	for _, s := range a.Trace {
		fmt.Fprintf(&b, "\n    %6d ms %s %s %s %d", s.OffsetMs, s.Kind, s.ConnectionName, s.Reason, s.Status)
	}
	return b.String()
}

// admissible names an account that the request had not tried and that nothing
// kept it from trying, if there is one. In a combo a target that runs into its
// time limit rules its model out for the request (combos sheet §2.5): ruled
// tells that only such accounts were left.
func (r *run) admissible(a control.Activity) (name string, ruled bool) {
	for _, route := range r.svc.Routes() {
		model := route.Record.Models[0]
		tried, slow := false, false
		for _, s := range a.Trace {
			failed := s.Kind == control.StepFailed
			tried = tried || failed && s.ConnectionID == route.Record.ID
			slow = slow || failed && s.Model == model && s.Status == http.StatusGatewayTimeout
		}
		if tried {
			continue
		}
		if r.plan.Strategy == "" && model != r.model {
			continue
		}
		plan := r.svc.Engine().Plan([]resilience.Candidate{{Conn: route.Conn, Model: model}})
		switch {
		case len(plan.Targets) == 0 || !r.room(route, model):
		case slow && r.plan.Strategy != "":
			ruled = true
		default:
			return route.Record.Name, false
		}
	}
	return "", ruled
}

// room reports whether the gates and the queue of an account are open.
func (r *run) room(route *control.Route, model string) bool {
	id, caps := route.Record.ID, r.svc.Caps(route)
	account := admission.AccountKey(route.Provider.ID, id)
	of := account
	of.Level, of.Model = admission.Model, model
	for key, limit := range map[admission.Key]int{account: caps.Account, of: caps.Models[model]} {
		if limit > 0 && r.svc.Gates().Running(key) >= limit {
			return false
		}
	}
	for _, v := range r.svc.Queues().Views() {
		if v.Connection == id && v.Held > 0 {
			return false
		}
	}
	return true
}

// rest checks that the day has left nothing behind.
func (r *run) rest(t *testing.T) {
	t.Helper()
	for _, v := range r.svc.Gates().Views() {
		if v.Running > 0 || v.Queued > 0 {
			t.Errorf("the gate %s is not empty: %+v", v.Key, v)
		}
	}
	for _, v := range r.svc.Queues().Views() {
		if v.Running > 0 || v.Queued > 0 {
			t.Errorf("the queue %s is not empty: %+v", v.Key, v)
		}
	}
	for _, route := range r.svc.Routes() {
		if n := route.Use.InFlight.Load(); n != 0 {
			t.Errorf("%d requests are still in flight on %s", n, route.Record.Name)
		}
	}
}

func (r *run) result(t *testing.T) Result {
	t.Helper()
	for _, a := range r.world.accounts {
		s := a.look()
		r.res.Calls += s.calls
		r.res.Most = max(r.res.Most, s.most)
		r.res.Over += s.over
		r.res.Disturbed += s.disturbs
		r.res.Shares = append(r.res.Shares, s.served)
	}
	if sum := r.res.Requests + r.res.Left; sum != r.plan.Requests {
		t.Errorf("%d requests have an end, of %d", sum, r.plan.Requests)
	}
	if len(r.panics) > 0 {
		t.Errorf("%d panics, the first: %s", len(r.panics), r.panics[0])
	}
	for _, w := range r.why {
		t.Log(w)
	}
	for _, word := range slices.Sorted(maps.Keys(r.res.Codes)) {
		t.Logf("%s: %d × %s", r.plan.Strategy, r.res.Codes[word], word)
	}
	return r.res
}

// addCombo makes the combo that the requests ask for: the twelve accounts one by
// one. A panel and a chain of steps name providers instead, whose accounts stand
// in for one another.
func (r *run) addCombo(t *testing.T) {
	t.Helper()
	if r.plan.Strategy == "" {
		r.model = suppliers[0].model
		return
	}
	r.model = "day"
	in := control.ComboInput{Name: r.model, Strategy: string(r.plan.Strategy)}
	switch r.plan.Strategy {
	case combo.Fusion:
		for _, s := range suppliers {
			in.Steps = append(in.Steps, control.ComboStep{Model: s.id + "/" + s.model})
		}
	case combo.Pipeline:
		for _, s := range suppliers[:3] {
			in.Steps = append(in.Steps, control.ComboStep{Model: s.id + "/" + s.model, Prompt: "Go on with this."})
		}
	default:
		for i, a := range r.svc.Routes() {
			in.Steps = append(in.Steps, control.ComboStep{
				Model: a.Provider.ID + "/" + a.Record.Models[0], Connection: a.Record.ID, Weight: weight(i),
			})
		}
	}
	if _, err := r.svc.AddCombo(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

// weight is the weight of an account in the combo; only weighted looks at it.
func weight(account int) float64 { return float64(1 + account%perSupplier) }
